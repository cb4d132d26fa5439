package org.leaderfollowers.spring.cluster;

import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;

/**
 * Tests processes of a cluster on Hazelcast.
 */
class HazelcastClusterProcessTests extends AbstractClusterProcessTests {

	@Test
	void nodesSurvive() throws Exception {
		List<Integer> ports = Stream.generate(FreePort::find).limit(4).toList();
		String cluster = "test-" + UUID.randomUUID();
		try (HaproxyLinks links = new HaproxyLinks(ports)) {
			String members = IntStream.range(0, 4)
				.mapToObj((i) -> "127.0.0.1:" + links.port(i))
				.collect(Collectors.joining(","));
			survive(links, (index) -> List.of("lf.cluster.engine=hazelcast", "lf.cluster.name=" + cluster,
					"lf.cluster.hazelcast.port=" + ports.get(index), "lf.cluster.hazelcast.members=" + members,
					"test.public-port=" + links.port(index), "test.outbound-ports=" + links.outboundPorts(index)));
		}
	}

}
