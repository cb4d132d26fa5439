package org.leaderfollowers;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The part of a TCP connection that knows what is still to come from the application:
 * suspensions, which hold up further messages, and replies that are owed, which hold up
 * the end. Any thread.
 */
abstract class ReplyingConnection extends EngineConnection {

	private static final VarHandle SUSPENSIONS;

	private static final VarHandle OWED_REPLIES;

	static {
		try {
			MethodHandles.Lookup lookup = MethodHandles.lookup();
			SUSPENSIONS = lookup.findVarHandle(ReplyingConnection.class, "suspensions", int.class);
			OWED_REPLIES = lookup.findVarHandle(ReplyingConnection.class, "owedReplies", int.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
	}

	/** How many suspensions have not been resumed. */
	@SuppressWarnings("FieldMayBeFinal") // by SUSPENSIONS
	private volatile int suspensions;

	/** How many owed replies have not been closed. */
	@SuppressWarnings("FieldMayBeFinal") // by OWED_REPLIES
	private volatile int owedReplies;

	ReplyingConnection(long id) {
		super(id);
	}

	/** Has the owner look at the connection, which was suspended. */
	abstract void resumed();

	/** Has the owner look at the connection if it waits for the end of what is owed. */
	abstract void settled();

	@Override
	public Suspension suspend() {
		SUSPENSIONS.getAndAdd(this, 1);
		AtomicBoolean isResumed = new AtomicBoolean();
		return () -> {
			if (isResumed.compareAndSet(false, true) && (int) SUSPENSIONS.getAndAdd(this, -1) == 1) {
				resumed();
			}
		};
	}

	final boolean isSuspended() {
		return this.suspensions != 0;
	}

	@Override
	public OwedReply owe() {
		OWED_REPLIES.getAndAdd(this, 1);
		return EngineOwedReply.of(this, () -> {
			if ((int) OWED_REPLIES.getAndAdd(this, -1) == 1) {
				settled();
			}
		});
	}

	/** How much of what was received is not answered. */
	int unanswered() {
		return this.owedReplies;
	}

}
