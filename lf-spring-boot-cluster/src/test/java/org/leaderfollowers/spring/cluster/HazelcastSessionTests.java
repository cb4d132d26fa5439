package org.leaderfollowers.spring.cluster;

import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Sessions on Hazelcast, as it is configured by default. */
class HazelcastSessionTests extends AbstractSessionClusterTests {

	private final List<Integer> ports = Stream.generate(FreePort::find).limit(3).toList();

	private final String cluster = "test-" + UUID.randomUUID();

	@Override
	Map<String, Object> properties(int index) {
		return Map.of("lf.cluster.engine", "hazelcast", "lf.cluster.name", this.cluster, "lf.cluster.hazelcast.port",
				this.ports.get(index), "lf.cluster.hazelcast.members",
				this.ports.stream().map((port) -> "127.0.0.1:" + port).collect(Collectors.joining(",")));
	}

}
