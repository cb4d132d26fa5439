package org.leaderfollowers.spring.autoconfigure;

import java.net.InetAddress;
import java.util.function.Consumer;

import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.TrustedNetworks;
import org.leaderfollowers.UdpServer;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Server;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Udp;

import org.springframework.util.unit.DataSize;

/**
 * Maps the properties of a server to its builder.
 *
 * @param properties the properties to map
 * @param framings framings of the application
 */
record ServerPropertiesMapper(ConfiguredProperties<Server> properties, FramingBeans framings) {

	TcpServer.Builder map(String name, LeaderFollowersPool pool) {
		new TransportProperties(this.properties).check();
		TcpServer.Builder builder = TcpServer.builder(pool).name(name);
		Server server = this.properties.values();
		listen(name, builder::port, builder::address);
		builder.framing(new FramingPropertiesMapper(this.properties, this.framings).map());
		set("max-message-size", server.maxMessageSize(), builder::maxMessageSize);
		Integer length = server.framing().length();
		if (length != null && length > server.maxMessageSize().toBytes()) {
			throw this.properties.invalid("framing.length", length, "Must not be greater than '%s', which is %d bytes."
				.formatted(this.properties.key("max-message-size"), server.maxMessageSize().toBytes()));
		}
		this.properties.set("max-connections", server.maxConnections(), builder::maxConnections);
		set("max-outbound-size", server.maxOutboundSize(), builder::maxOutboundSize);
		this.properties.set("idle-timeout", server.idleTimeout(), builder::idleTimeout);
		this.properties.set("message-timeout", server.messageTimeout(), builder::messageTimeout);
		this.properties.set("write-timeout", server.writeTimeout(), builder::writeTimeout);
		this.properties.set("handshake-timeout", server.handshakeTimeout(), builder::handshakeTimeout);
		this.properties.set("backlog", server.backlog(), builder::backlog);
		this.properties.set("proxy-protocol.trusted-networks", server.proxyProtocol().trustedNetworks(),
				(networks) -> builder.proxyProtocol(TrustedNetworks.of(networks)));
		if (server.proxyProtocol().directClients() && server.proxyProtocol().trustedNetworks().isEmpty()) {
			throw this.properties.invalid("proxy-protocol.direct-clients", true,
					"Is used only if '%s' is set.".formatted(this.properties.key("proxy-protocol.trusted-networks")));
		}
		builder.directClients(server.proxyProtocol().directClients());
		return builder;
	}

	UdpServer.Builder mapUdp(String name, LeaderFollowersPool pool) {
		new TransportProperties(this.properties).check();
		UdpServer.Builder builder = UdpServer.builder(pool).name(name);
		listen(name, builder::port, builder::address);
		set("max-message-size", this.properties.values().maxMessageSize(), builder::maxMessageSize);
		Udp udp = this.properties.values().udp();
		this.properties.set("udp.max-in-flight", udp.maxInFlight(), builder::maxInFlight);
		this.properties.set("udp.max-reply-ratio", udp.maxReplyRatio(), builder::maxReplyRatio);
		this.properties.set("udp.suspension-timeout", udp.suspensionTimeout(), builder::suspensionTimeout);
		if (udp.receiveBufferSize() != null) {
			set("udp.receive-buffer-size", udp.receiveBufferSize(), builder::receiveBufferSize);
		}
		if (udp.sendBufferSize() != null) {
			set("udp.send-buffer-size", udp.sendBufferSize(), builder::sendBufferSize);
		}
		return builder;
	}

	private void listen(String name, Consumer<Integer> port, Consumer<InetAddress> address) {
		Server server = this.properties.values();
		if (server.port() != null) {
			this.properties.set("port", server.port(), port);
		}
		else if (!name.equals(ConfiguredProperties.DEFAULT_NAME)) {
			throw this.properties.invalid("port", null, "A port is required: only the server '%s' has one by default. "
				.formatted(ConfiguredProperties.DEFAULT_NAME) + "Use 0 for any free port.");
		}
		if (server.address() != null) {
			address.accept(server.address());
		}
	}

	private void set(String property, DataSize value, Consumer<Integer> setter) {
		this.properties.set(property, value, (size) -> {
			try {
				setter.accept((int) Math.max(Integer.MIN_VALUE, Math.min(size.toBytes(), Integer.MAX_VALUE)));
			}
			catch (IllegalArgumentException ex) {
				throw new IllegalArgumentException(String.valueOf(ex.getMessage()).replace(", but", " bytes, but"), ex);
			}
		});
	}

}
