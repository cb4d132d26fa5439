package org.leaderfollowers.spring.autoconfigure;

import java.util.List;

import org.leaderfollowers.NestingGuard;

import org.springframework.transaction.support.TransactionSynchronizationManager;

/** Combines several guards; the first one is the outermost. */
record NestingGuards(List<NestingGuard> guards) implements NestingGuard {

	@Override
	public boolean mayNest() {
		return this.guards.stream().allMatch(NestingGuard::mayNest);
	}

	@Override
	public void separate(Runnable handler) {
		Runnable next = handler;
		for (int i = this.guards.size() - 1; i >= 0; i--) {
			NestingGuard guard = this.guards.get(i);
			Runnable inner = next;
			next = () -> guard.separate(inner);
		}
		next.run();
	}

	/**
	 * Does not allow a handler on top of one that has bound a transaction, or a resource
	 * such as a database connection, to the thread.
	 */
	static final class OutsideOfTransactions implements NestingGuard {

		@Override
		public boolean mayNest() {
			return !TransactionSynchronizationManager.isActualTransactionActive()
					&& !TransactionSynchronizationManager.isSynchronizationActive()
					&& TransactionSynchronizationManager.getResourceMap().isEmpty();
		}

	}

}
