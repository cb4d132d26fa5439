package org.leaderfollowers.spring.cluster;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

import com.hazelcast.config.Config;
import com.hazelcast.config.JoinConfig;
import com.hazelcast.core.Hazelcast;
import com.hazelcast.core.HazelcastInstance;

/** Members of a cluster in this virtual machine. */
final class HazelcastMembers implements AutoCloseable {

	private final String cluster = "test-" + UUID.randomUUID();

	private final List<HazelcastInstance> members = new ArrayList<>();

	/**
	 * Starts a member.
	 * @param port the port to listen on
	 * @param publicPort the port that others use
	 * @param others the ports of all members that others use
	 */
	HazelcastInstance start(int port, int publicPort, List<Integer> others) {
		Config config = new Config().setClusterName(this.cluster)
			.setProperty("hazelcast.logging.type", "none")
			.setProperty("hazelcast.phone.home.enabled", "false")
			.setProperty("hazelcast.shutdownhook.enabled", "false")
			.setProperty("hazelcast.partition.count", "17")
			.setProperty("hazelcast.operation.thread.count", "2")
			.setProperty("hazelcast.operation.generic.thread.count", "2")
			.setProperty("hazelcast.wait.seconds.before.join", "0")
			.setProperty("hazelcast.merge.first.run.delay.seconds", "2")
			.setProperty("hazelcast.merge.next.run.delay.seconds", "2");
		config.getMetricsConfig().setEnabled(false);
		config.getJetConfig().setEnabled(false);
		config.getNetworkConfig()
			.setPort(port)
			.setPortAutoIncrement(false)
			.setPublicAddress("127.0.0.1:" + publicPort)
			.getInterfaces()
			.setEnabled(true)
			.addInterface("127.0.0.1");
		JoinConfig join = config.getNetworkConfig().getJoin();
		join.getAutoDetectionConfig().setEnabled(false);
		join.getMulticastConfig().setEnabled(false);
		join.getTcpIpConfig().setEnabled(true).setMembers(others.stream().map((each) -> "127.0.0.1:" + each).toList());
		HazelcastInstance member = Hazelcast.newHazelcastInstance(config);
		this.members.add(member);
		return member;
	}

	HazelcastInstance get(int index) {
		return this.members.get(index);
	}

	/** Starts two members. */
	static HazelcastMembers two() {
		HazelcastMembers members = new HazelcastMembers();
		List<Integer> ports = List.of(FreePort.find(), FreePort.find());
		ports.forEach((port) -> members.start(port, port, ports));
		AbstractClusterEngineTests.eventually()
			.until(() -> members.members.stream().allMatch((each) -> each.getCluster().getMembers().size() == 2));
		return members;
	}

	@Override
	public void close() {
		this.members.forEach((member) -> member.getLifecycleService().terminate());
	}

}
