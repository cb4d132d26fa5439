package org.leaderfollowers;

import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.promotion.HandOffKind;
import org.leaderfollowers.internal.promotion.PromotionProtocol;

/**
 * The listeners of a pool. A listener that throws is logged, and keeps nobody else from
 * being told.
 */
final class PoolListeners implements PromotionProtocol.Listener {

	private static final PromotionKind[] KINDS = PromotionKind.values();

	/** Replaced, never changed: hand-offs go through it without an iterator. */
	private volatile PoolListener[] listeners;

	PoolListeners(List<PoolListener> listeners) {
		this.listeners = listeners.toArray(PoolListener[]::new);
	}

	synchronized void add(PoolListener listener) {
		PoolListener[] current = this.listeners;
		PoolListener[] longer = Arrays.copyOf(current, current.length + 1);
		longer[current.length] = listener;
		this.listeners = longer;
	}

	@Override
	public void handedOff(HandOffKind kind, long vacancyNanos) {
		for (PoolListener listener : this.listeners) {
			try {
				listener.handedOff(KINDS[kind.ordinal()], vacancyNanos);
			}
			catch (Throwable ex) {
				failed(listener, ex);
			}
		}
	}

	/** Tells all listeners of something that is rare. */
	void tell(Consumer<PoolListener> event) {
		for (PoolListener listener : this.listeners) {
			try {
				event.accept(listener);
			}
			catch (Throwable ex) {
				failed(listener, ex);
			}
		}
	}

	/** An error, too: the caller is between leading and waiting. */
	private static void failed(PoolListener listener, Throwable failure) {
		EngineLog.INSTANCE.debug("{} failed", listener, failure);
	}

}
