package org.leaderfollowers.spring.cluster;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

import com.hazelcast.cluster.Cluster;
import com.hazelcast.cluster.Endpoint;
import com.hazelcast.cluster.Member;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.core.IExecutorService;
import com.hazelcast.core.LifecycleEvent.LifecycleState;
import com.hazelcast.instance.impl.LifecycleServiceImpl;
import com.hazelcast.map.IMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mockito.Answers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyString;
import static org.mockito.ArgumentMatchers.eq;
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

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	@SuppressWarnings("unchecked")
	void aRenewalSucceedsIfAnotherMemberCannotBeTold(boolean silent) {
		Member here = mock();
		Member there = mock();
		given(here.localMember()).willReturn(true);
		for (Member each : List.of(here, there)) {
			given(each.getAddress()).willReturn(mock());
		}
		Cluster cluster = mock();
		given(cluster.getLocalMember()).willReturn(here);
		given(cluster.getMembers()).willReturn(Set.of(here, there));
		given(cluster.getClusterTime()).willReturn(1000L);
		IExecutorService messages = mock();
		CompletableFuture<byte[]> answer = silent ? new CompletableFuture<>()
				: CompletableFuture.failedFuture(new IOException("from the test"));
		given(messages.submitToMember(any(Callable.class), eq(there))).willReturn(answer);
		HazelcastInstance member = mock(Answers.RETURNS_DEEP_STUBS);
		given(member.getLocalEndpoint()).willReturn(here);
		given(member.getCluster()).willReturn(cluster);
		given(member.getUserContext()).willReturn(new ConcurrentHashMap<>());
		given(member.getExecutorService(anyString())).willReturn(messages);
		ClusterEngine engine = new HazelcastClusterEngine(member, "test", HazelcastSplitTests.WAIT);
		engine.start("north", new Inbox());
		assertThat(get(engine.renew(bytes("north"), LONG))).isEqualTo(1000);
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
			assertFails(engine.touch(Set.of("key"), LONG).get("key"));
			assertFails(engine.renew(bytes("node"), LONG));
			assertFails(engine.nodes());
			assertFails(engine.send(id, bytes("message")));
			engine.stop();
		}
	}

	/** For example because memory is short. The caller waits for the future. */
	@Test
	@SuppressWarnings("unchecked")
	void aCallThatEndsWithAnErrorFails() {
		IMap<Object, Object> map = mock();
		given(map.getAsync(any())).willThrow(new LinkageError("from the test"));
		HazelcastInstance member = mock();
		given(member.getLocalEndpoint()).willReturn(mock(Member.class));
		given(member.getMap(anyString())).willReturn(map);
		assertFails(new HazelcastClusterEngine(member, "test", HazelcastSplitTests.WAIT).get("key"));
	}

	/** A node may have stopped before it has told others of its lease. */
	@Test
	void aNodeLearnsOfOthersFromTheirAnswers() {
		get(this.first.renew(bytes("first"), LONG));
		this.second.stop();
		ClusterEngine late = createEngine(1);
		String lateId = late.start("south", new Inbox());
		assertThat(get(late.nodes())).isEmpty();
		get(late.renew(bytes("late"), LONG));
		assertThat(get(late.nodes())).containsOnlyKeys(this.firstId, lateId);
	}

	@Test
	void aStopWaitsUntilOthersHaveForgottenTheNode() {
		get(this.first.renew(bytes("first"), LONG));
		this.second.stop();
		for (int i = 0; i < 50; i++) {
			ClusterEngine engine = createEngine(1);
			engine.start("south", new Inbox());
			get(engine.renew(bytes("south"), LONG));
			assertThat(get(this.first.nodes())).hasSize(2);
			engine.stop();
			assertThat(get(this.first.nodes())).containsOnlyKeys(this.firstId);
			assertThat(get(engine.nodes())).containsOnlyKeys(this.firstId);
		}
	}

	@Test
	void aNodeWhoseMemberHasLeftIsGoneBeforeItsLeaseExpires() {
		try (HazelcastMembers both = HazelcastMembers.two()) {
			String name = "test-" + UUID.randomUUID();
			ClusterEngine staying = new HazelcastClusterEngine(both.get(0), name, HazelcastSplitTests.WAIT);
			ClusterEngine leaving = new HazelcastClusterEngine(both.get(1), name, HazelcastSplitTests.WAIT);
			String stayingId = staying.start("north", new Inbox());
			String leavingId = leaving.start("south", new Inbox());
			get(staying.renew(bytes("north"), LONG));
			get(leaving.renew(bytes("south"), LONG));
			assertThat(get(staying.nodes())).containsOnlyKeys(stayingId, leavingId);
			both.get(1).getLifecycleService().terminate();
			eventually().untilAsserted(() -> assertThat(get(staying.nodes())).containsOnlyKeys(stayingId));
			staying.stop();
		}
	}

	@Test
	void aNodeThatHasStoppedNoLongerHearsOfMembers() {
		try (HazelcastMembers both = HazelcastMembers.two()) {
			String cluster = "test-" + UUID.randomUUID();
			ClusterEngine stopped = new HazelcastClusterEngine(both.get(0), cluster, HazelcastSplitTests.WAIT);
			Inbox inbox = new Inbox();
			stopped.start("north", inbox);
			stopped.stop();
			ClusterEngine running = new HazelcastClusterEngine(both.get(0), cluster, HazelcastSplitTests.WAIT);
			Inbox later = new Inbox();
			running.start("north", later);
			both.get(1).shutdown();
			eventually().until(() -> later.healings.get() > 0);
			assertThat(inbox.healings).hasValue(0);
			running.stop();
		}
	}

	@Test
	void aNodeThatHasStoppedNoLongerHearsOfSplits() {
		String name = "test-" + UUID.randomUUID();
		ClusterEngine stopped = new HazelcastClusterEngine(members.get(0), name, HazelcastSplitTests.WAIT);
		Inbox inbox = new Inbox();
		stopped.start("north", inbox);
		stopped.stop();
		ClusterEngine running = new HazelcastClusterEngine(members.get(0), name, HazelcastSplitTests.WAIT);
		Inbox later = new Inbox();
		running.start("north", later);
		try {
			((LifecycleServiceImpl) members.get(0).getLifecycleService()).fireLifecycleEvent(LifecycleState.MERGED);
			eventually().until(() -> later.healings.get() == 1);
			assertThat(inbox.healings).hasValue(0);
		}
		finally {
			running.stop();
		}
	}

	@Test
	void aValueOfAnotherTypeLeavesTheOthersAlone() {
		get(this.first.compareAndSet("key", null, bytes("value"), LONG));
		members.get(0).getMap("lf:" + this.cluster).set("text", "text");
		Map<String, CompletableFuture<byte[]>> touched = this.first.touch(List.of("text", "key", "missing"), LONG);
		assertFails(touched.get("text"));
		assertThat(get(touched.get("key"))).isEqualTo(bytes("value"));
		assertThat(get(touched.get("missing"))).isNull();
	}

	/** Here, another program has put a text where an array of bytes belongs. */
	@Test
	void aFailureOfAnotherMemberIsPassedOn() {
		for (int i = 0; i < 8; i++) {
			String key = "key-" + i;
			members.get(0).getMap("lf:" + this.cluster).set(key, "text");
			assertFails(this.first.compareAndSet(key, bytes("value"), bytes("update"), LONG));
		}
	}

	@Test
	void noThreadKeepsTheVirtualMachine() {
		get(this.first.get("key"));
		assertThat(Thread.getAllStackTraces().keySet()).filteredOn((thread) -> thread.getName().equals("lf-hazelcast"))
			.isNotEmpty()
			.allMatch(Thread::isDaemon);
	}

}
