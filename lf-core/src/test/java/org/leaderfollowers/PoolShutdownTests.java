package org.leaderfollowers;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests the order in which a pool closes what it serves. */
class PoolShutdownTests {

	private final List<String> calls = new CopyOnWriteArrayList<>();

	private final class Served implements Drainable {

		private final String name;

		private final boolean isClient;

		Served(String name, boolean isClient) {
			this.name = name;
			this.isClient = isClient;
		}

		@Override
		public boolean isClient() {
			return this.isClient;
		}

		@Override
		public void beginDrain(long deadlineNanos) {
			PoolShutdownTests.this.calls.add("begin " + this.name);
		}

		@Override
		public boolean close(Duration grace) {
			PoolShutdownTests.this.calls.add("close " + this.name);
			return true;
		}

	}

	/**
	 * No server accepts connections while another one drains, and the handlers of all
	 * need the clients to answer their messages.
	 */
	@Test
	void allBeginToDrainBeforeOneIsClosedAndClientsAreClosedLast() {
		LeaderFollowersPool pool = LeaderFollowersPool.builder().name("test").build();
		pool.serves(new Served("client", true));
		pool.serves(new Served("server 1", false));
		pool.serves(new Served("server 2", false));
		assertThat(pool.close(Duration.ofSeconds(10))).isTrue();
		assertThat(this.calls).containsExactly("begin client", "begin server 1", "begin server 2", "close server 1",
				"close server 2", "close client");
	}

}
