package org.leaderfollowers.spring.cluster;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.core.env.Environment;

/**
 * Configuration properties for nodes of a cluster. An unknown property fails the start
 * instead of being ignored.
 *
 * @param enabled Whether this application is a node of a cluster.
 * @param engine Engine of the cluster. Hazelcast by default, if it is on the class path.
 * @param name Name of the cluster. Nodes of one cluster have the same name. The name of
 * the application by default.
 * @param nodeName Name of this node, for people. The name of the host by default.
 * @param hazelcast Hazelcast, unless the application configures it.
 */
@ConfigurationProperties(prefix = "lf.cluster", ignoreUnknownFields = false)
record ClusterProperties(@DefaultValue("true") boolean enabled, @Nullable Engine engine, @Nullable String name,
		@Nullable String nodeName, @DefaultValue Hazelcast hazelcast) {

	/**
	 * Returns the name of the cluster, or its default.
	 */
	String nameOrDefault(Environment environment) {
		return (this.name != null) ? this.name : environment.getProperty("spring.application.name", "default");
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
