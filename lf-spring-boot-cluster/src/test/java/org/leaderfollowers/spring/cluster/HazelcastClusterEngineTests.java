package org.leaderfollowers.spring.cluster;

import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

import com.hazelcast.cluster.Cluster;
import com.hazelcast.cluster.Endpoint;
import com.hazelcast.cluster.Member;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.map.IMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyString;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/** The contract of the engine, and rules for Hazelcast alone. */
class HazelcastClusterEngineTests extends AbstractClusterEngineTests {

	private static HazelcastMembers members;

	@BeforeAll
	static void startMembers() {
		members = HazelcastMembers.two();
	}

	@AfterAll
	static void stopMembers() {
		members.close();
	}

	@Override
	ClusterEngine create(int index, String cluster) {
		return new HazelcastClusterEngine(members.get(index), cluster, HazelcastSplitTests.WAIT);
	}

	@Test
	void aClientIsRejected() {
		HazelcastInstance client = mock();
		given(client.getLocalEndpoint()).willReturn(mock(Endpoint.class));
		given(client.getName()).willReturn("hz.client_1");
		assertThatIllegalStateException()
			.isThrownBy(() -> new HazelcastClusterEngine(client, "test", HazelcastSplitTests.WAIT))
			.withMessageContaining("'hz.client_1' is a client")
			.withMessageContaining("lf.cluster.engine");
	}

	@Test
	void aMemberIsOneNode() {
		ClusterEngine other = createEngine(0);
		assertThatIllegalStateException().isThrownBy(() -> other.start("north", new Inbox()))
			.withMessageContaining("lf.cluster.name");
	}

	/** It may be the second run, after the first one has replaced the value. */
	@Test
	@SuppressWarnings("unchecked")
	void anUpdateThatMayHaveRunTwiceDoesNotSayThatItHasNotRun() {
		Member here = mock();
		Member there = mock();
		Cluster cluster = mock();
		given(cluster.getMembers()).willReturn(Set.of(here, there), Set.of(here));
		IMap<Object, Object> map = mock();
		CompletableFuture<Object> result = new CompletableFuture<>();
		given(map.submitToKey(any(), any())).willReturn(result);
		HazelcastInstance member = mock();
		given(member.getLocalEndpoint()).willReturn(here);
		given(member.getCluster()).willReturn(cluster);
		given(member.getMap(anyString())).willReturn(map);
		CompletableFuture<Boolean> replaced = new HazelcastClusterEngine(member, "test", HazelcastSplitTests.WAIT)
			.compareAndSet("key", null, bytes("value"), LONG);
		result.complete(false);
		assertFails(replaced);
	}

	@Test
	void callsOfAMemberThatHasShutDownFail() {
		try (HazelcastMembers alone = new HazelcastMembers()) {
			int port = FreePort.find();
			HazelcastInstance member = alone.start(port, port, List.of());
			ClusterEngine engine = new HazelcastClusterEngine(member, "test-" + UUID.randomUUID(),
					HazelcastSplitTests.WAIT);
			String id = engine.start("north", new Inbox());
			assertThat(get(engine.get("key"))).isNull();
			member.getLifecycleService().terminate();
			assertFails(engine.get("key"));
			assertFails(engine.compareAndSet("key", null, bytes("value"), LONG));
			assertFails(engine.touch(Set.of("key"), LONG));
			assertFails(engine.renew(bytes("node"), LONG));
			assertFails(engine.nodes());
			assertFails(engine.send(id, bytes("message")));
			engine.stop();
		}
	}

}
