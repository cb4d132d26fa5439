package org.leaderfollowers;

/**
 * Whether a thread that waits for a reply runs the handler of another event meanwhile, on
 * top of the waiting handler: a <em>nested upcall</em>. This matters only if every thread
 * of the pool is busy and no further thread may be started.
 */
public enum NestedDispatch {

	/**
	 * Never: the event is kept until a thread is free. Two applications whose threads all
	 * wait for each other make no progress until a request times out.
	 */
	NEVER,

	/**
	 * If there is no other thread for the event. The waiting handler continues when the
	 * handler on top of it has returned, even if its reply arrives earlier. So a handler
	 * must not wait for a reply while it holds a lock that another handler takes. If the
	 * handler on top returns with the interrupt status set, the interrupt may be meant
	 * for the waiting handler, whose wait then fails with {@link ExchangeLostException}.
	 */
	WHEN_STARVED

}
