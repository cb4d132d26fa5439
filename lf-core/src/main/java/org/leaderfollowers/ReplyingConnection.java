package org.leaderfollowers;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicBoolean;

import org.leaderfollowers.internal.linkage.Linkage;

/**
 * The part of a TCP connection that counts what the application still has to do:
 * suspensions, which delay further messages, and owed replies, which delay the end. Any
 * thread.
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
		Linkage.link(() -> {
			SUSPENSIONS.getAndAdd((ReplyingConnection) null, 0);
		}, () -> {
			int ignored = (int) SUSPENSIONS.getAndAdd((ReplyingConnection) null, 0);
		});
	}

	/** The number of suspensions that have not been resumed. */
	@SuppressWarnings("FieldMayBeFinal") // changed through SUSPENSIONS
	private volatile int suspensions;

	/** The number of owed replies that have not been closed. */
	@SuppressWarnings("FieldMayBeFinal") // changed through OWED_REPLIES
	private volatile int owedReplies;

	ReplyingConnection(long id) {
		super(id);
	}

	/** Requests a look of the owner, because the last suspension has ended. */
	abstract void resumed();

	/** Requests a look of the owner if the connection waits for the last owed reply. */
	abstract void settled();

	@Override
	public Suspension suspend() {
		StackReserve.require();
		AtomicBoolean isResumed = new AtomicBoolean();
		Suspension suspension = () -> {
			StackReserve.require();
			if (isResumed.compareAndSet(false, true) && (int) SUSPENSIONS.getAndAdd(this, -1) == 1) {
				resumed();
			}
		};
		// Last, because nobody could end it if there were no memory for the object.
		SUSPENSIONS.getAndAdd(this, 1);
		return suspension;
	}

	final boolean isSuspended() {
		return this.suspensions != 0;
	}

	@Override
	public OwedReply owe() {
		StackReserve.require();
		OwedReply owed = EngineOwedReply.of(this, () -> {
			if ((int) OWED_REPLIES.getAndAdd(this, -1) == 1) {
				settled();
			}
		});
		// Last, as above.
		OWED_REPLIES.getAndAdd(this, 1);
		return owed;
	}

	/** Whether the application owes a reply that belongs to no message in flight. */
	final boolean owes() {
		return this.owedReplies != 0;
	}

	/** The number of received messages, or groups of them, that are not answered. */
	int unanswered() {
		return this.owedReplies;
	}

}
