package org.leaderfollowers.spring.test.assertion;

import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.Server;
import org.leaderfollowers.ServerSnapshot;

/**
 * Entry point to the assertions for pools, servers and framings. Import its methods
 * statically, in addition to those of AssertJ:
 *
 * <pre>
 * assertThat(pool).hasExactlyOneLeader();
 * assertThat(server).eventually().hasOpenConnections(0);
 * </pre>
 */
public final class LfAssertions {

	private LfAssertions() {
	}

	/**
	 * Begins assertions about a pool.
	 * @param actual the pool
	 * @return assertions, each of which takes a new snapshot
	 */
	public static LeaderFollowersPoolAssert assertThat(LeaderFollowersPool actual) {
		return new LeaderFollowersPoolAssert(actual);
	}

	/**
	 * Begins assertions about the state of a pool at one moment.
	 * @param actual the snapshot of the pool
	 * @return assertions
	 */
	public static PoolSnapshotAssert assertThat(PoolSnapshot actual) {
		return new PoolSnapshotAssert(actual);
	}

	/**
	 * Begins assertions about a server.
	 * @param actual the server
	 * @return assertions, each of which takes a new snapshot
	 */
	public static ServerAssert assertThat(Server actual) {
		return new ServerAssert(actual);
	}

	/**
	 * Begins assertions about the state of a server at one moment.
	 * @param actual the snapshot of the server
	 * @return assertions
	 */
	public static ServerSnapshotAssert assertThat(ServerSnapshot actual) {
		return new ServerSnapshotAssert(actual);
	}

	/**
	 * Begins assertions about a framing.
	 * @param actual the framing
	 * @return assertions
	 */
	public static FramingAssert assertThat(Framing actual) {
		return new FramingAssert(actual);
	}

}
