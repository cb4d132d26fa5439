package org.leaderfollowers.spring.autoconfigure;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.TransportType;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Server;

/**
 * Refuses properties of a server that mean nothing with its transport, instead of
 * ignoring them. One that has its default value does no harm.
 *
 * @param properties the properties to check
 */
record TransportProperties(ConfiguredProperties<Server> properties) {

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

	void check() {
		ONLY_FOR.forEach((transport, only) -> {
			if (transport != this.properties.values().transport()) {
				only.forEach((property, getter) -> check(property, getter, transport));
			}
		});
	}

	private void check(String property, Function<Server, @Nullable Object> getter, TransportType transport) {
		Object value = getter.apply(this.properties.values());
		if (!Objects.equals(value, getter.apply(DEFAULTS))) {
			throw this.properties.invalid(property, value, "Is used only if '%s' is '%s'."
				.formatted(this.properties.key("transport"), transport.name().toLowerCase(Locale.ROOT)));
		}
	}

}
