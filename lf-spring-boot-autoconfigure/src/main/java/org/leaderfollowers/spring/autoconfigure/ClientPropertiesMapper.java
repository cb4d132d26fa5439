package org.leaderfollowers.spring.autoconfigure;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;

import org.leaderfollowers.Correlation;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.spring.autoconfigure.ClientProperties.Backoff;
import org.leaderfollowers.spring.autoconfigure.ClientProperties.Heartbeat;

import org.springframework.beans.factory.ListableBeanFactory;

/**
 * Maps the properties of a client to its builder.
 *
 * @param properties the properties to map
 * @param beanFactory provides framings and correlations of the application
 */
record ClientPropertiesMapper(ConfiguredProperties<ClientProperties> properties, ListableBeanFactory beanFactory) {

	TcpClient.Builder map(String name, LeaderFollowersPool pool) {
		ClientProperties client = this.properties.values();
		TcpClient.Builder builder = TcpClient.builder(pool).name(name);
		if (client.addresses().isEmpty()) {
			throw this.properties.missing("addresses",
					"An address is required: a host and a port such as 'localhost:6379'.");
		}
		client.addresses()
			.forEach((address) -> builder
				.address(this.properties.get("addresses", address, ClientPropertiesMapper::address)));
		FramingPropertiesMapper framing = new FramingPropertiesMapper(this.properties, client.framing(),
				this.beanFactory);
		builder.framing(framing.map());
		builder.correlation(correlation(client));
		this.properties.set("connections", client.connections(), builder::connections, "be from 1 to 1024");
		this.properties.set("max-in-flight", client.maxInFlight(), builder::maxInFlight, "be from 1 to 1048576");
		this.properties.set("request-timeout", client.requestTimeout(), builder::requestTimeout, "be more than 0");
		if (client.placeTimeout() != null) {
			this.properties.set("place-timeout", client.placeTimeout(), builder::placeTimeout, "not be negative");
		}
		this.properties.set("connect-timeout", client.connectTimeout(), builder::connectTimeout, "be more than 0");
		Backoff backoff = client.backoff();
		this.properties.set("backoff.min", backoff.min(), (min) -> builder.backoff(min, min), "be at least 1ms");
		this.properties.set("backoff.max", backoff.max(), (max) -> builder.backoff(backoff.min(), max),
				"not be less than '%s', which is %s".formatted(this.properties.key("backoff.min"),
						ConfiguredProperties.text(backoff.min())));
		heartbeat(client.heartbeat(), builder);
		if (client.idempotent()) {
			builder.idempotent((request) -> true);
		}
		this.properties.setSize("max-message-size", client.maxMessageSize(), builder::maxMessageSize,
				"be from 1 to 1073741824 bytes");
		framing.checkLength(client.maxMessageSize());
		this.properties.setSize("max-outbound-size", client.maxOutboundSize(), builder::maxOutboundSize,
				"be from 1024 to 1073741824 bytes");
		this.properties.set("message-timeout", client.messageTimeout(), builder::messageTimeout, "not be negative");
		this.properties.set("write-timeout", client.writeTimeout(), builder::writeTimeout, "not be negative");
		builder.tcpNoDelay(client.tcpNoDelay()).keepAlive(client.keepAlive());
		this.properties.setBufferSize("receive-buffer-size", client.receiveBufferSize(), builder::receiveBufferSize);
		this.properties.setBufferSize("send-buffer-size", client.sendBufferSize(), builder::sendBufferSize);
		return builder;
	}

	/** A literal IPv6 address must be in brackets. */
	static InetSocketAddress address(String text) {
		int colon = text.lastIndexOf(':');
		String host = text.substring(0, Math.max(0, colon)).trim();
		boolean bracketed = host.startsWith("[") && host.endsWith("]");
		host = bracketed ? host.substring(1, host.length() - 1) : host;
		try {
			int port = Integer.parseInt(text.substring(colon + 1).trim());
			if (!host.isEmpty() && (bracketed || host.indexOf(':') < 0) && port > 0 && port <= 65535) {
				return InetSocketAddress.createUnresolved(host, port);
			}
		}
		catch (NumberFormatException ex) {
			// Reported below.
		}
		throw new IllegalArgumentException(
				"'%s' must be a host and a port from 1 to 65535, such as 'localhost:6379' or '[::1]:6379'"
					.formatted(text));
	}

	private Correlation correlation(ClientProperties client) {
		Correlation correlation = new CorrelationPropertiesMapper(this.properties, client.correlation(),
				this.beanFactory)
			.map();
		if (correlation == null) {
			throw this.properties.missing("correlation.type",
					"A value is required: 'in-order' if replies come in the order of the requests, 'stamped' if the peer copies a number, or '%s' for the name of a bean that finds keys."
						.formatted(this.properties.key("correlation.bean")));
		}
		return correlation;
	}

	private void heartbeat(Heartbeat heartbeat, TcpClient.Builder builder) {
		Duration interval = heartbeat.interval();
		String request = heartbeat.request();
		if (interval == null && request == null) {
			return;
		}
		if (interval == null || request == null) {
			String missing = (interval == null) ? "heartbeat.interval" : "heartbeat.request";
			throw this.properties.missing(missing, "A value is required, because '%s' is set."
				.formatted(this.properties.key((interval == null) ? "heartbeat.request" : "heartbeat.interval")));
		}
		ByteBuffer payload = ByteBuffer.wrap(this.properties.get("heartbeat.request", request, Delimiter::parse));
		this.properties.set("heartbeat.interval", interval,
				(valid) -> builder.heartbeat(valid, payload::asReadOnlyBuffer), "be at least 1ms");
	}

}
