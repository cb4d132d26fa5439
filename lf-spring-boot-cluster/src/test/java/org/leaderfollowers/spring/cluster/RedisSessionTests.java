package org.leaderfollowers.spring.cluster;

import java.util.Map;

import org.junit.jupiter.api.AfterEach;

/** Sessions on Redis. */
class RedisSessionTests extends AbstractSessionClusterTests {

	private final RedisServer redis = new RedisServer().start();

	@Override
	Map<String, Object> properties(int index) {
		return Map.of("lf.cluster.engine", "redis", "lf.cluster.name", "test", "spring.data.redis.port",
				this.redis.port());
	}

	@AfterEach
	void stopRedis() {
		this.redis.close();
	}

}
