package org.leaderfollowers;

/**
 * Separates handlers that a thread runs on top of each other, see
 * {@link NestedDispatch#WHEN_STARVED}: values that one handler has bound to the thread
 * must not be visible to the other. The diagnostic context of the logs is separated in
 * any case. Threads of the pool call the methods, which must not block.
 */
public interface NestingGuard {

	/**
	 * Whether another handler may begin on top of the one that the calling thread runs,
	 * for example not inside of a transaction.
	 * @return {@code false} if the event of the other handler is to wait until a thread
	 * is free
	 */
	default boolean mayNest() {
		return true;
	}

	/**
	 * Runs the other handler without the values that the outer handler has bound to the
	 * thread, and binds these values again afterwards.
	 * @param handler must be run once
	 */
	default void separate(Runnable handler) {
		handler.run();
	}

}
