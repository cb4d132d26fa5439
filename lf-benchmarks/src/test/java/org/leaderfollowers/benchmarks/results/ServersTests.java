package org.leaderfollowers.benchmarks.results;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A reader learns what each server is.
 */
class ServersTests {

	@Test
	void everyServerIsDescribed() {
		assertThat(Servers.ALL).doesNotHaveDuplicates()
			.allSatisfy((server) -> assertThat(Servers.description(server)).isNotEqualTo("Another server"));
		assertThat(Servers.description("unheard-of")).isEqualTo("Another server");
	}

	@Test
	void settingsAreInTheDescription() {
		String netty = "Netty on its native epoll transport, the handler on the event loop";
		assertThat(Servers.description(Servers.NETTY))
			.isEqualTo(netty + ", with its default of two loops per processor");
		assertThat(Servers.description(Servers.NETTY_ONE_LOOP)).isEqualTo(netty + ", with 1 event loop");
		assertThat(Servers.description(Servers.NETTY_TWO_LOOPS)).isEqualTo(netty + ", with 2 event loops");
		assertThat(Servers.description(Servers.EAGER_TWO_SETS)).endsWith(", with 2 handle sets");
	}

}
