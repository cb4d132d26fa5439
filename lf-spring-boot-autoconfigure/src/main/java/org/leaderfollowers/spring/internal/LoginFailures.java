package org.leaderfollowers.spring.internal;

import org.leaderfollowers.Connection;

/**
 * Counts the failed logins of the client of a connection. Any thread.
 */
public interface LoginFailures {

	/** The attribute of a connection whose failed logins are counted. */
	String ATTRIBUTE = LoginFailures.class.getName();

	/** For connections whose failed logins are not counted. */
	LoginFailures UNLIMITED = new LoginFailures() {

		@Override
		public void check() {
		}

		@Override
		public void failed() {
		}

		@Override
		public int count() {
			return 0;
		}

		@Override
		public Object lock() {
			return this;
		}

	};

	/**
	 * Finds the counter of a connection.
	 * @param connection any connection
	 * @return the counter, or one that does nothing
	 */
	static LoginFailures of(Connection connection) {
		return (connection.attributes().get(ATTRIBUTE) instanceof LoginFailures failures) ? failures : UNLIMITED;
	}

	/**
	 * Checks that the client may try to log in.
	 * @throws org.leaderfollowers.ClientLimitException if too many of its logins have
	 * failed
	 */
	void check();

	/** Records that a login has failed. */
	void failed();

	/**
	 * The number of failed logins of the connection, from which a caller sees whether
	 * other code has recorded the same failure.
	 * @return a number that only increases
	 */
	int count();

	/**
	 * Records that a login has failed, unless other code has recorded this.
	 * @param before the {@linkplain #count() number} before the login
	 */
	default void failedSince(int before) {
		if (count() == before) {
			failed();
		}
	}

	/**
	 * The monitor that a thread holds while it tries to log in, so that the logins of a
	 * connection are tried one after the other.
	 * @return the same object for each call
	 */
	Object lock();

}
