package org.leaderfollowers.spring.cluster;

import java.util.Collections;
import java.util.List;

import org.junit.jupiter.api.Test;

/**
 * Tests processes of a cluster on Redis.
 */
class RedisClusterProcessTests extends AbstractClusterProcessTests {

	@Test
	void nodesSurvive() throws Exception {
		try (RedisServer redis = new RedisServer().start();
				HaproxyLinks links = new HaproxyLinks(Collections.nCopies(4, redis.port()))) {
			survive(links,
					(index) -> List.of("lf.cluster.engine=redis", "spring.data.redis.port=" + links.port(index)));
		}
	}

}
