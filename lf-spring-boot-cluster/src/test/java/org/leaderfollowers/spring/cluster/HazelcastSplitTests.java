package org.leaderfollowers.spring.cluster;

import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

import com.hazelcast.core.HazelcastInstance;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.leaderfollowers.spring.cluster.AbstractClusterEngineTests.Inbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.leaderfollowers.spring.cluster.AbstractClusterEngineTests.LONG;
import static org.leaderfollowers.spring.cluster.AbstractClusterEngineTests.assertFails;
import static org.leaderfollowers.spring.cluster.AbstractClusterEngineTests.bytes;
import static org.leaderfollowers.spring.cluster.AbstractClusterEngineTests.eventually;
import static org.leaderfollowers.spring.cluster.AbstractClusterEngineTests.get;

/** Members that lose each other. */
@Timeout(300)
class HazelcastSplitTests {

	static final Duration WAIT = Duration.ofSeconds(1);

	private final String cluster = "test-" + UUID.randomUUID();

	@Test
	void nodesHealAfterASplit() {
		List<Integer> ports = List.of(FreePort.find(), FreePort.find());
		try (TcpProxy toFirst = new TcpProxy(ports.get(0));
				TcpProxy toSecond = new TcpProxy(ports.get(1));
				HazelcastMembers members = new HazelcastMembers()) {
			List<Integer> publicPorts = List.of(toFirst.port(), toSecond.port());
			List<HazelcastInstance> both = List.of(members.start(ports.get(0), publicPorts.get(0), publicPorts),
					members.start(ports.get(1), publicPorts.get(1), publicPorts));
			awaitSize(both, 2);
			Inbox firstInbox = new Inbox();
			Inbox secondInbox = new Inbox();
			ClusterEngine first = new HazelcastClusterEngine(both.get(0), this.cluster, WAIT);
			ClusterEngine second = new HazelcastClusterEngine(both.get(1), this.cluster, WAIT);
			String firstId = first.start("north", firstInbox);
			String secondId = second.start("south", secondInbox);
			assertThat(get(first.compareAndSet("key", null, bytes("before"), LONG))).isTrue();
			toFirst.cut();
			toSecond.cut();
			awaitSize(both, 1);
			assertFails(first.send(secondId, bytes("lost")));
			assertThat(get(first.compareAndSet("key", bytes("before"), bytes("north"), LONG))).isTrue();
			assertThat(get(second.compareAndSet("key", bytes("before"), bytes("south"), LONG))).isTrue();
			assertThat(get(second.compareAndSet("added", null, bytes("south"), LONG))).isTrue();
			assertThat(get(first.compareAndSet("added to north", null, bytes("north"), LONG))).isTrue();
			eventually().until(() -> firstInbox.healings.get() == 1 && secondInbox.healings.get() == 1);
			toFirst.mend();
			toSecond.mend();
			awaitSize(both, 2);
			// The members that have joined the others again.
			eventually().until(() -> firstInbox.healings.get() + secondInbox.healings.get() == 3);
			String survivor = (firstInbox.healings.get() == 1) ? "north" : "south";
			for (ClusterEngine engine : List.of(first, second)) {
				assertThat(get(engine.get("key"))).isEqualTo(bytes(survivor));
				assertThat(get(engine.get("added"))).isEqualTo(bytes("south"));
				assertThat(get(engine.get("added to north"))).isEqualTo(bytes("north"));
			}
			// Identifiers outlive the split.
			get(first.renew(bytes("first"), LONG));
			get(second.renew(bytes("second"), LONG));
			assertThat(get(first.nodes())).containsOnlyKeys(firstId, secondId);
			get(first.send(secondId, bytes("to south")));
			get(second.send(firstId, bytes("to north")));
			eventually().until(() -> secondInbox.messages.containsKey("to south"));
			eventually().until(() -> firstInbox.messages.containsKey("to north"));
		}
	}

	@Test
	void aNodeRenewsItsLeaseWhileAnotherOneIsSilent() {
		List<Integer> ports = List.of(FreePort.find(), FreePort.find());
		try (TcpProxy toFirst = new TcpProxy(ports.get(0));
				TcpProxy toSecond = new TcpProxy(ports.get(1));
				HazelcastMembers members = new HazelcastMembers()) {
			List<Integer> publicPorts = List.of(toFirst.port(), toSecond.port());
			List<HazelcastInstance> both = List.of(members.start(ports.get(0), publicPorts.get(0), publicPorts),
					members.start(ports.get(1), publicPorts.get(1), publicPorts));
			awaitSize(both, 2);
			ClusterEngine first = new HazelcastClusterEngine(both.get(0), this.cluster, WAIT);
			ClusterEngine second = new HazelcastClusterEngine(both.get(1), this.cluster, WAIT);
			String firstId = first.start("north", new Inbox());
			String secondId = second.start("south", new Inbox());
			get(first.renew(bytes("first"), LONG));
			get(second.renew(bytes("second"), LONG));
			toFirst.silence();
			toSecond.silence();
			get(first.renew(bytes("again"), LONG));
			get(second.renew(bytes("again"), LONG));
			assertThat(get(first.nodes())).containsOnlyKeys(firstId, secondId);
			assertThat(both).allSatisfy((each) -> assertThat(each.getCluster().getMembers()).hasSize(2));
		}
	}

	@ParameterizedTest
	@CsvSource({ "800, 60000", "60000, 800" })
	void aSilentMemberDelaysNoRenewalTooLong(int leaseMillis, int timeoutMillis) {
		Duration lease = Duration.ofMillis(leaseMillis);
		ClusterOptions options = new ClusterOptions("north", lease, LONG, Duration.ofMillis(timeoutMillis), 0,
				Long.MAX_VALUE);
		List<Integer> ports = List.of(FreePort.find(), FreePort.find());
		try (TcpProxy toFirst = new TcpProxy(ports.get(0));
				TcpProxy toSecond = new TcpProxy(ports.get(1));
				HazelcastMembers members = new HazelcastMembers()) {
			List<Integer> publicPorts = List.of(toFirst.port(), toSecond.port());
			List<HazelcastInstance> both = List.of(members.start(ports.get(0), publicPorts.get(0), publicPorts),
					members.start(ports.get(1), publicPorts.get(1), publicPorts));
			awaitSize(both, 2);
			ClusterEngine engine = new HazelcastClusterEngine(both.get(0), this.cluster, options.answerTimeout());
			String id = engine.start(options.nodeName(), new Inbox());
			toFirst.silence();
			toSecond.silence();
			// Again if the machine is busy.
			eventually().until(() -> {
				engine.renew(bytes("first"), lease).get(timeoutMillis, TimeUnit.MILLISECONDS);
				return get(engine.nodes()).containsKey(id);
			});
			assertThat(both).allSatisfy((each) -> assertThat(each.getCluster().getMembers()).hasSize(2));
		}
	}

	@Test
	void aNodeThatDiesIsGoneAndItsValuesStay() {
		try (HazelcastMembers members = HazelcastMembers.two()) {
			Inbox inbox = new Inbox();
			ClusterEngine first = new HazelcastClusterEngine(members.get(0), this.cluster, WAIT);
			ClusterEngine second = new HazelcastClusterEngine(members.get(1), this.cluster, WAIT);
			String firstId = first.start("north", inbox);
			String secondId = second.start("south", new Inbox());
			get(first.renew(bytes("first"), LONG));
			get(second.renew(bytes("second"), LONG));
			for (int i = 0; i < 100; i++) {
				assertThat(get(second.compareAndSet("key-" + i, null, bytes("old"), LONG))).isTrue();
				assertThat(get(second.compareAndSet("key-" + i, bytes("old"), bytes("new"), LONG))).isTrue();
			}
			members.get(1).getLifecycleService().terminate();
			eventually().until(() -> inbox.healings.get() == 1);
			assertThat(get(first.nodes())).containsOnlyKeys(firstId);
			assertFails(first.send(secondId, bytes("lost")));
			for (int i = 0; i < 100; i++) {
				assertThat(get(first.get("key-" + i))).isEqualTo(bytes("new"));
			}
		}
	}

	private static void awaitSize(List<HazelcastInstance> members, int size) {
		eventually().until(() -> members.stream().allMatch((each) -> each.getCluster().getMembers().size() == size));
	}

}
