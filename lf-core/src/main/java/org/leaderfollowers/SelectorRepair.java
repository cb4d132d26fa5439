package org.leaderfollowers;

import java.io.IOException;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.SelectorProvider;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.logging.EngineLog;

/**
 * Repairs the selector of a handle set. A selector that no longer waits is replaced: the
 * usual remedy for defects of kernels and runtimes (Netty has had it since 2012). If
 * memory was short, the selector may have lost changes of its keys, which are repeated.
 * Used by the leader, unless stated otherwise.
 */
final class SelectorRepair {

	private static final EngineLog logger = EngineLog.INSTANCE;

	/** Replacing a selector helps against no defect that returns at once. */
	private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(10);

	private final HandleSet set;

	private final SelectorProvider provider;

	/** Whether the selector may have lost a change of a key. Any thread. */
	private volatile boolean keysInDoubt;

	/** Whether the selector has lost the cancellation of a key. */
	private boolean keyLost;

	private long replacedNanos;

	SelectorRepair(HandleSet set, SelectorProvider provider, long nowNanos) {
		this.set = set;
		this.provider = provider;
		this.replacedNanos = nowNanos - INTERVAL_NANOS;
	}

	/** Makes the leader check all keys. Any thread. Allocates nothing. */
	void doubtKeys() {
		this.keysInDoubt = true;
	}

	/**
	 * Repeats changes that the selector may have lost because memory was short: a list of
	 * the JDK that cannot grow loses all its changes, and a channel whose registration
	 * fails may leave a key behind.
	 */
	void checkKeys(Selector selector) {
		if (!this.keysInDoubt) {
			return;
		}
		this.keysInDoubt = false;
		this.set.freeClosedChannels();
		SelectionKey cancelled = null;
		for (SelectionKey key : selector.keys()) {
			if (!key.isValid()) {
				cancelled = key;
			}
			else if (((SelectableHandle) key.attachment()).key != key || !key.channel().isOpen()) {
				key.cancel();
			}
			else {
				repeatInterest(key);
			}
		}
		// Removes cancelled keys before their channels are registered again.
		this.set.freeClosedChannels();
		this.keyLost |= cancelled != null && selector.keys().contains(cancelled);
	}

	private static void repeatInterest(SelectionKey key) {
		// Not those of the key, which are those that it was told last.
		int operations = ((SelectableHandle) key.attachment()).registeredOperations;
		try {
			// The JDK ignores a change to the same operations.
			key.interestOps((operations == 0) ? key.channel().validOps() : 0);
			key.interestOps(operations);
		}
		catch (CancelledKeyException ex) {
			// The next select removes the key.
		}
	}

	/** Whether the selector keeps a closed channel for ever unless it is replaced. */
	boolean hasLostKey() {
		return this.keyLost;
	}

	/** Whether the selector may be replaced: at most once in ten seconds. */
	boolean isAllowed(long nowNanos) {
		return nowNanos - this.replacedNanos >= INTERVAL_NANOS;
	}

	/**
	 * Replaces a selector.
	 * @return the replacement, or the same selector if there was none
	 */
	Selector replace(Selector broken, long nowNanos, String reason, @Nullable Exception cause) {
		this.replacedNanos = nowNanos;
		logger.warn("The selector of handle set '{}' is replaced: {}", this.set, reason, cause);
		try {
			Selector replacement = this.provider.openSelector();
			try {
				register(broken, replacement);
				// Memory is needed only before the first handle gets its new key.
				for (SelectionKey key : replacement.keys()) {
					((SelectableHandle) key.attachment()).key = key;
				}
			}
			catch (RuntimeException | Error ex) {
				replacement.close();
				throw ex;
			}
			this.keyLost = false;
			close(broken);
			return replacement;
		}
		catch (IOException ex) {
			logger.error("The selector of handle set '{}' could not be replaced; the leader retries", this.set, ex);
			return broken;
		}
	}

	/** The handles use the replacement already, so a failure must not prevent its use. */
	private void close(Selector broken) {
		try {
			broken.close();
		}
		catch (Throwable ex) {
			logger.debug("Closing the replaced selector of handle set '{}' failed", this.set, ex);
		}
	}

	private void register(Selector broken, Selector replacement) {
		for (SelectionKey key : broken.keys()) {
			SelectableHandle handle = (SelectableHandle) key.attachment();
			if (key.isValid()) {
				try {
					handle.channel().register(replacement, handle.registeredOperations, handle);
				}
				catch (ClosedChannelException ex) {
					this.set.demultiplex(handle, SelectableHandle.LOOK);
				}
			}
		}
	}

}
