package org.leaderfollowers.docs.choosing;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests for the pools in the guide. */
@SpringBootTest(webEnvironment = WebEnvironment.NONE,
		properties = { "spring.config.import=classpath:pools.yaml", "lf.server.port=0", "lf.servers.prices.port=0" })
class PoolSnippetTests {

	@Autowired
	private LeaderFollowersPools pools;

	@Autowired
	private LeaderFollowersServers servers;

	@Test
	void eachServerHasItsPool() {
		assertThat(this.servers.get("default").pool().name()).isEqualTo("default");
		assertThat(this.servers.get("prices").pool().name()).isEqualTo("suppliers");
	}

	@Test
	void poolsHaveTheThreadsOfTheExample() {
		PoolSnapshot pool = this.pools.get("default").snapshot();
		assertThat(pool.maxThreads()).isEqualTo(24);
		assertThat(pool.unfolding().most()).isLessThanOrEqualTo(4);
		PoolSnapshot suppliers = this.pools.get("suppliers").snapshot();
		assertThat(suppliers.minThreads()).isEqualTo(2);
		assertThat(suppliers.maxThreads()).isEqualTo(50);
		assertThat(suppliers.unfolding().most()).isLessThanOrEqualTo(2);
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Application {

		@Bean
		@LfHandler
		MessageHandler orders() {
			return (connection, message) -> connection.send(message);
		}

		@Bean
		@LfHandler("prices")
		MessageHandler prices() {
			return (connection, message) -> connection.send(message);
		}

	}

}
