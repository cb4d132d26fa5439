package org.leaderfollowers.spring.autoconfigure;

import java.net.InetAddress;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.TransportType;
import org.leaderfollowers.TrustedNetworks;
import org.leaderfollowers.UdpServer;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Server;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Udp;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.util.unit.DataSize;

/**
 * Maps the properties of a server to its builder.
 *
 * @param properties the properties to map
 * @param beanFactory where to find framings of the application
 */
record ServerPropertiesMapper(ConfiguredProperties<Server> properties, ListableBeanFactory beanFactory) {

	private static final Server DEFAULTS = ConfiguredProperties.defaults("lf.server", Server.class).values();

	private static final Map<TransportType, Map<String, Function<Server, @Nullable Object>>> ONLY_FOR = Map
		.of(TransportType.TCP, tcp(), TransportType.UDP, udp());

	private static Map<String, Function<Server, @Nullable Object>> tcp() {
		Map<String, Function<Server, @Nullable Object>> tcp = new LinkedHashMap<>();
		tcp.put("framing.type", (server) -> server.framing().type());
		tcp.put("framing.bean", (server) -> server.framing().bean());
		tcp.put("framing.delimiter", (server) -> server.framing().delimiter());
		tcp.put("framing.length", (server) -> server.framing().length());
		tcp.put("framing.length-field", (server) -> server.framing().lengthField());
		tcp.put("ssl.enabled", (server) -> server.ssl().enabled());
		tcp.put("ssl.bundle", (server) -> server.ssl().bundle());
		tcp.put("ssl.client-auth", (server) -> server.ssl().clientAuth());
		tcp.put("max-connections", Server::maxConnections);
		tcp.put("max-outbound-size", Server::maxOutboundSize);
		tcp.put("idle-timeout", Server::idleTimeout);
		tcp.put("message-timeout", Server::messageTimeout);
		tcp.put("write-timeout", Server::writeTimeout);
		tcp.put("handshake-timeout", Server::handshakeTimeout);
		tcp.put("backlog", Server::backlog);
		tcp.put("proxy-protocol.trusted-networks", (server) -> server.proxyProtocol().trustedNetworks());
		tcp.put("proxy-protocol.direct-clients", (server) -> server.proxyProtocol().directClients());
		return tcp;
	}

	private static Map<String, Function<Server, @Nullable Object>> udp() {
		Map<String, Function<Server, @Nullable Object>> udp = new LinkedHashMap<>();
		udp.put("udp.max-in-flight", (server) -> server.udp().maxInFlight());
		udp.put("udp.max-reply-ratio", (server) -> server.udp().maxReplyRatio());
		udp.put("udp.suspension-timeout", (server) -> server.udp().suspensionTimeout());
		udp.put("udp.receive-buffer-size", (server) -> server.udp().receiveBufferSize());
		udp.put("udp.send-buffer-size", (server) -> server.udp().sendBufferSize());
		return udp;
	}

	TcpServer.Builder map(String name, LeaderFollowersPool pool) {
		checkTransport();
		TcpServer.Builder builder = TcpServer.builder(pool).name(name);
		Server server = this.properties.values();
		listen(name, builder::port, builder::address);
		builder.framing(new FramingPropertiesMapper(this.properties, this.beanFactory).map());
		set("max-message-size", server.maxMessageSize(), builder::maxMessageSize, "be from 1 to 1073741824 bytes");
		Integer length = server.framing().length();
		if (length != null && length > server.maxMessageSize().toBytes()) {
			throw this.properties.invalid("framing.length", length, "Must not be greater than '%s', which is %d bytes."
				.formatted(this.properties.key("max-message-size"), server.maxMessageSize().toBytes()));
		}
		this.properties.set("max-connections", server.maxConnections(), builder::maxConnections, "be at least 1");
		set("max-outbound-size", server.maxOutboundSize(), builder::maxOutboundSize,
				"be from 1024 to 1073741824 bytes");
		this.properties.set("idle-timeout", server.idleTimeout(), builder::idleTimeout, "not be negative");
		this.properties.set("message-timeout", server.messageTimeout(), builder::messageTimeout, "not be negative");
		this.properties.set("write-timeout", server.writeTimeout(), builder::writeTimeout, "not be negative");
		this.properties.set("handshake-timeout", server.handshakeTimeout(), builder::handshakeTimeout,
				"not be negative");
		this.properties.set("backlog", server.backlog(), builder::backlog, "be from 1 to 65535");
		builder.proxyProtocol(this.properties.get("proxy-protocol.trusted-networks",
				server.proxyProtocol().trustedNetworks(), TrustedNetworks::of));
		if (server.proxyProtocol().directClients() && server.proxyProtocol().trustedNetworks().isEmpty()) {
			throw this.properties.invalid("proxy-protocol.direct-clients", true,
					"Is used only if '%s' is set.".formatted(this.properties.key("proxy-protocol.trusted-networks")));
		}
		builder.directClients(server.proxyProtocol().directClients());
		return builder;
	}

	UdpServer.Builder mapUdp(String name, LeaderFollowersPool pool) {
		checkTransport();
		UdpServer.Builder builder = UdpServer.builder(pool).name(name);
		listen(name, builder::port, builder::address);
		set("max-message-size", this.properties.values().maxMessageSize(), builder::maxMessageSize,
				"be from 1 to 65536 bytes");
		Udp udp = this.properties.values().udp();
		this.properties.set("udp.max-in-flight", udp.maxInFlight(), builder::maxInFlight, "be at least 1");
		this.properties.set("udp.max-reply-ratio", udp.maxReplyRatio(), builder::maxReplyRatio, "be from 0 to 10000");
		this.properties.set("udp.suspension-timeout", udp.suspensionTimeout(), builder::suspensionTimeout,
				"not be negative");
		if (udp.receiveBufferSize() != null) {
			set("udp.receive-buffer-size", udp.receiveBufferSize(), builder::receiveBufferSize,
					"be from 1024 to 1073741824 bytes");
		}
		if (udp.sendBufferSize() != null) {
			set("udp.send-buffer-size", udp.sendBufferSize(), builder::sendBufferSize,
					"be from 1024 to 1073741824 bytes");
		}
		return builder;
	}

	private void listen(String name, Consumer<Integer> port, Consumer<InetAddress> address) {
		Server server = this.properties.values();
		if (server.port() != null) {
			this.properties.set("port", server.port(), port, "be from 0 to 65535");
		}
		else if (!name.equals(ConfiguredProperties.DEFAULT_NAME)) {
			throw this.properties.invalid("port", null, "A port is required: only the server '%s' has one by default. "
				.formatted(ConfiguredProperties.DEFAULT_NAME) + "Use 0 for any free port.");
		}
		if (server.address() != null) {
			address.accept(server.address());
		}
	}

	private void set(String property, DataSize value, Consumer<Integer> setter, String rule) {
		this.properties.set(property, value,
				(size) -> setter.accept((int) Math.max(Integer.MIN_VALUE, Math.min(size.toBytes(), Integer.MAX_VALUE))),
				rule);
	}

	/**
	 * Rejects properties that mean nothing with the transport of the server, instead of
	 * ignoring them. A property that has its default value does no harm.
	 */
	private void checkTransport() {
		ONLY_FOR.forEach((transport, only) -> {
			if (transport != this.properties.values().transport()) {
				only.forEach((property, getter) -> rejectUnused(property, getter, transport));
			}
		});
	}

	private void rejectUnused(String property, Function<Server, @Nullable Object> getter, TransportType transport) {
		Object value = getter.apply(this.properties.values());
		if (!Objects.equals(value, getter.apply(DEFAULTS))) {
			throw this.properties.invalid(property, value, "Is used only if '%s' is '%s'."
				.formatted(this.properties.key("transport"), transport.name().toLowerCase(Locale.ROOT)));
		}
	}

}
