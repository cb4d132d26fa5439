package org.leaderfollowers.spring.cluster;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.core.env.Environment;
import org.springframework.util.unit.DataSize;

/**
 * Configuration properties for nodes of a cluster. An unknown property fails the start
 * instead of being ignored.
 *
 * @param enabled Whether this application is a node of a cluster.
 * @param engine Engine of the cluster. Hazelcast by default, if it is on the class path.
 * @param name Name of the cluster. Nodes of one cluster have the same name. The name of
 * the application by default.
 * @param nodeName Name of this node, for people. The name of the host by default.
 * @param lease After how long without a sign of life a node counts as gone.
 * @param verifyInterval How often each node compares its sessions with what the others
 * know of them, and corrects the difference.
 * @param maxCachedNames How many sessions of other nodes a node remembers, to find them
 * faster.
 * @param maxOutboundSize How many bytes of messages may wait for each other node. Further
 * messages to it are rejected.
 * @param hazelcast Hazelcast, unless the application configures it.
 */
@ConfigurationProperties(prefix = "lf.cluster", ignoreUnknownFields = false)
record ClusterProperties(@DefaultValue("true") boolean enabled, @Nullable Engine engine, @Nullable String name,
		@Nullable String nodeName, @DefaultValue("10s") Duration lease, @DefaultValue("1m") Duration verifyInterval,
		@DefaultValue("10000") int maxCachedNames, @DefaultValue("16MB") DataSize maxOutboundSize,
		@DefaultValue Hazelcast hazelcast) {

	private static final Duration LONGEST_TIME = Duration.ofDays(1);

	/** A hundred years. Longer times may be too long for nanoseconds. */
	private static final Duration LONGEST_WAIT = Duration.ofDays(36_500);

	/**
	 * Returns the name of the cluster, or its default.
	 */
	String nameOrDefault(Environment environment) {
		return (this.name != null) ? this.name : environment.getProperty("spring.application.name", "default");
	}

	/** Checks the limits of the directory of sessions. */
	ClusterOptions options(Duration timeout) {
		checkTime("lease", this.lease, Duration.ofMillis(300), "Must be at least 300ms, and at most 1d.");
		checkTime("verify-interval", this.verifyInterval, Duration.ofMillis(10),
				"Must be at least 10ms, and at most 1d.");
		check("max-cached-names", this.maxCachedNames, this.maxCachedNames >= 0, "Must not be negative.");
		check("max-outbound-size", this.maxOutboundSize, this.maxOutboundSize.toBytes() > 0, "Must be at least 1B.");
		return new ClusterOptions(nodeNameOrDefault(), this.lease, this.verifyInterval,
				(timeout.compareTo(LONGEST_WAIT) < 0) ? timeout : LONGEST_WAIT, this.maxCachedNames,
				this.maxOutboundSize.toBytes());
	}

	private static void checkTime(String property, Duration value, Duration least, String rule) {
		check(property, value, value.compareTo(least) >= 0 && value.compareTo(LONGEST_TIME) <= 0, rule);
	}

	private static void check(String property, Object value, boolean valid, String rule) {
		if (!valid) {
			throw new InvalidConfigurationPropertyValueException("lf.cluster." + property, value, rule);
		}
	}

	/**
	 * Returns the name of this node, or its default, as {@link ClusterEngine#start} wants
	 * it.
	 */
	String nodeNameOrDefault() {
		String chosen = (this.nodeName != null) ? this.nodeName : hostName();
		return chosen.replaceAll("[^!-~]", "_");
	}

	private static String hostName() {
		try {
			return InetAddress.getLocalHost().getHostName();
		}
		catch (UnknownHostException ex) {
			return "node";
		}
	}

	/**
	 * The engines.
	 */
	enum Engine {

		/** An embedded member of a Hazelcast cluster. */
		HAZELCAST,

		/** A client of Redis or Valkey. */
		REDIS

	}

	/**
	 * The embedded Hazelcast, unless the application configures it.
	 *
	 * @param members Addresses of nodes, such as '10.0.0.1:5701'. A new node needs one of
	 * them that runs.
	 * @param port Port for other nodes. By default, the first free one from 5701.
	 * @param kubernetes Discovery of the nodes in Kubernetes.
	 */
	record Hazelcast(@DefaultValue List<String> members, @Nullable Integer port, @DefaultValue Kubernetes kubernetes) {
	}

	/**
	 * The discovery of the nodes in Kubernetes.
	 *
	 * @param serviceDns Name in the DNS of a headless service that selects the nodes.
	 */
	record Kubernetes(@Nullable String serviceDns) {
	}

}
