package org.leaderfollowers;

import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.promotion.HandOffKind;
import org.leaderfollowers.internal.promotion.PromotionProtocol;

/**
 * The listeners of a pool. If a listener throws, the exception is logged and the other
 * listeners are still called.
 */
final class PoolListeners implements PromotionProtocol.Listener {

	private static final PromotionKind[] KINDS = PromotionKind.values();

	/** Replaced but never changed, so that a hand-off needs no iterator. */
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

	/** Calls all listeners for a rare event. */
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

	/**
	 * Errors are caught too, because the calling thread is between leading and waiting.
	 */
	private static void failed(PoolListener listener, Throwable failure) {
		EngineLog.INSTANCE.debug("{} failed", listener, failure);
	}

}
