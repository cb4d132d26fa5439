package org.leaderfollowers.spring.autoconfigure;

import java.net.InetAddress;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Correlation;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageOrder;
import org.leaderfollowers.ServiceClass;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.TransportType;
import org.leaderfollowers.TrustedNetworks;
import org.leaderfollowers.UdpServer;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Server;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Udp;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.UnknownNameException;
import org.leaderfollowers.spring.server.UnknownNameException.Kind;

import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.BeanNotOfRequiredTypeException;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.util.unit.DataSize;

/**
 * Maps the properties of a server to its builder.
 *
 * @param properties the properties to map
 * @param beanFactory provides framings and message orders of the application
 */
record ServerPropertiesMapper(ConfiguredProperties<Server> properties, ListableBeanFactory beanFactory) {

	private static final String MAX_IN_FLIGHT = "max-in-flight-per-connection";

	private static final String MESSAGE_ORDER = "message-order";

	private static final String SERVICE_CLASSES = "service-classes";

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
		tcp.put("framing.decimal-length", (server) -> server.framing().decimalLength());
		tcp.put("framing.enclosed", (server) -> server.framing().enclosed());
		tcp.put("ssl.enabled", (server) -> server.ssl().enabled());
		tcp.put("ssl.bundle", (server) -> server.ssl().bundle());
		tcp.put("ssl.client-auth", (server) -> server.ssl().clientAuth());
		tcp.put("ssl.max-handshakes", (server) -> server.ssl().maxHandshakes());
		tcp.put("ssl.max-handshake-rate", (server) -> server.ssl().maxHandshakeRate());
		tcp.put("skip-oversized-messages", Server::skipOversizedMessages);
		tcp.put("max-connections", Server::maxConnections);
		tcp.put("max-outbound-size", Server::maxOutboundSize);
		tcp.put("idle-timeout", Server::idleTimeout);
		tcp.put("message-timeout", Server::messageTimeout);
		tcp.put("write-timeout", Server::writeTimeout);
		tcp.put("min-read-rate", Server::minReadRate);
		tcp.put("min-write-rate", Server::minWriteRate);
		tcp.put("handshake-timeout", Server::handshakeTimeout);
		tcp.put("login-timeout", Server::loginTimeout);
		tcp.put("read-idle", Server::readIdle);
		tcp.put("write-idle", Server::writeIdle);
		tcp.put("backlog", Server::backlog);
		tcp.put("tcp-no-delay", Server::tcpNoDelay);
		tcp.put("keep-alive", Server::keepAlive);
		tcp.put("receive-buffer-size", Server::receiveBufferSize);
		tcp.put("send-buffer-size", Server::sendBufferSize);
		tcp.put(MAX_IN_FLIGHT, Server::maxInFlightPerConnection);
		tcp.put(MESSAGE_ORDER, Server::messageOrder);
		tcp.put("reply-order", Server::replyOrder);
		tcp.put("correlation.type", (server) -> server.correlation().type());
		tcp.put("correlation.bean", (server) -> server.correlation().bean());
		tcp.put("correlation.offset", (server) -> server.correlation().offset());
		tcp.put("correlation.length", (server) -> server.correlation().length());
		tcp.put("max-exchanges", Server::maxExchanges);
		tcp.put(SERVICE_CLASSES, Server::serviceClasses);
		tcp.put("proxy-protocol.trusted-networks", (server) -> server.proxyProtocol().trustedNetworks());
		tcp.put("proxy-protocol.direct-clients", (server) -> server.proxyProtocol().directClients());
		tcp.put("per-client.max-connections", (server) -> server.perClient().maxConnections());
		tcp.put("per-client.connections-per-second", (server) -> server.perClient().connectionsPerSecond());
		tcp.put("per-client.failed-logins-per-minute", (server) -> server.perClient().failedLoginsPerMinute());
		tcp.put("per-client.action", (server) -> server.perClient().action());
		return tcp;
	}

	private static Map<String, Function<Server, @Nullable Object>> udp() {
		Map<String, Function<Server, @Nullable Object>> udp = new LinkedHashMap<>();
		udp.put("udp.max-in-flight", (server) -> server.udp().maxInFlight());
		udp.put("udp.max-reply-ratio", (server) -> server.udp().maxReplyRatio());
		udp.put("udp.max-reply-rate", (server) -> server.udp().maxReplyRate());
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
		FramingPropertiesMapper framing = new FramingPropertiesMapper(this.properties, server.framing(),
				this.beanFactory);
		builder.framing(framing.map());
		set("max-message-size", server.maxMessageSize(), builder::maxMessageSize, "be from 1 to 1073741824 bytes");
		framing.checkLength(server.maxMessageSize());
		builder.skipOversizedMessages(server.skipOversizedMessages());
		this.properties.set("max-connections", server.maxConnections(), builder::maxConnections, "be at least 1");
		set("max-outbound-size", server.maxOutboundSize(), builder::maxOutboundSize,
				"be from 1024 to 1073741824 bytes");
		this.properties.set("idle-timeout", server.idleTimeout(), builder::idleTimeout, "not be negative");
		this.properties.set("message-timeout", server.messageTimeout(), builder::messageTimeout, "not be negative");
		this.properties.set("write-timeout", server.writeTimeout(), builder::writeTimeout, "not be negative");
		set("min-read-rate", server.minReadRate(), builder::minReadRate, "be from 0 to 1000000000 bytes");
		set("min-write-rate", server.minWriteRate(), builder::minWriteRate, "be from 0 to 1000000000 bytes");
		this.properties.set("handshake-timeout", server.handshakeTimeout(), builder::handshakeTimeout,
				"not be negative");
		this.properties.set("login-timeout", server.loginTimeout(), builder::loginTimeout, "not be negative");
		this.properties.set("read-idle", server.readIdle(), builder::readIdle, "not be negative");
		this.properties.set("write-idle", server.writeIdle(), builder::writeIdle, "not be negative");
		this.properties.set("backlog", server.backlog(), builder::backlog, "be from 1 to 65535");
		builder.tcpNoDelay(server.tcpNoDelay()).keepAlive(server.keepAlive());
		this.properties.setBufferSize("receive-buffer-size", server.receiveBufferSize(), builder::receiveBufferSize);
		this.properties.setBufferSize("send-buffer-size", server.sendBufferSize(), builder::sendBufferSize);
		inParallel(builder);
		Correlation correlation = new CorrelationPropertiesMapper(this.properties, server.correlation(),
				this.beanFactory)
			.map();
		if (correlation != null) {
			builder.correlation(correlation);
		}
		this.properties.set("max-exchanges", server.maxExchanges(), builder::maxExchanges, "be at least 1");
		builder.proxyProtocol(this.properties.get("proxy-protocol.trusted-networks",
				server.proxyProtocol().trustedNetworks(), TrustedNetworks::of));
		if (server.proxyProtocol().directClients() && server.proxyProtocol().trustedNetworks().isEmpty()) {
			throw this.properties.invalid("proxy-protocol.direct-clients", true,
					"Is used only if '%s' is set.".formatted(this.properties.key("proxy-protocol.trusted-networks")));
		}
		builder.directClients(server.proxyProtocol().directClients());
		serviceClasses(builder);
		return builder;
	}

	private void serviceClasses(TcpServer.Builder builder) {
		List<String> names = this.properties.values().serviceClasses();
		ServiceClass serviceClass = this.beanFactory.getBeanProvider(ServiceClass.class).getIfUnique();
		if (serviceClass == null && !names.isEmpty()) {
			throw this.properties.invalid(SERVICE_CLASSES, names,
					"Requires one bean of type %s, which chooses the pool of each connection."
						.formatted(ServiceClass.class.getName()));
		}
		if (serviceClass != null) {
			LeaderFollowersPools pools = this.beanFactory.getBean(LeaderFollowersPools.class);
			names.forEach((name) -> checkPool(name, pools));
			builder.serviceClass(serviceClass,
					(names.isEmpty() ? pools.names() : names).stream()
						.map(pools::get)
						.toArray(LeaderFollowersPool[]::new));
		}
	}

	private void checkPool(String name, LeaderFollowersPools pools) {
		if (!pools.names().contains(name)) {
			throw new UnknownNameException(Kind.POOL, name, pools.names(), this.properties.key(SERVICE_CLASSES));
		}
	}

	private void inParallel(TcpServer.Builder builder) {
		Server server = this.properties.values();
		Integer inFlight = server.maxInFlightPerConnection();
		if (inFlight != null) {
			this.properties.set(MAX_IN_FLIGHT, inFlight, builder::maxInFlightPerConnection, "be from 1 to 4096");
		}
		String order = server.messageOrder();
		if (order != null) {
			if (inFlight != null && inFlight == 1) {
				throw this.properties.invalid(MESSAGE_ORDER, order,
						"Is used only if '%s' is greater than 1.".formatted(this.properties.key(MAX_IN_FLIGHT)));
			}
			builder.messageOrder(messageOrder(order));
		}
		else {
			this.beanFactory.getBeanProvider(MessageOrder.class).ifUnique(builder::messageOrder);
		}
		builder.replyOrder(server.replyOrder());
	}

	private MessageOrder messageOrder(String name) {
		if (!this.beanFactory.containsBean(name)) {
			throw new UnknownNameException(Kind.MESSAGE_ORDER, name,
					List.of(BeanFactoryUtils.beanNamesForTypeIncludingAncestors(this.beanFactory, MessageOrder.class)),
					this.properties.key(MESSAGE_ORDER));
		}
		try {
			return this.beanFactory.getBean(name, MessageOrder.class);
		}
		catch (BeanNotOfRequiredTypeException ex) {
			throw this.properties.invalid(MESSAGE_ORDER, name, "The bean '%s' is a %s, which does not implement %s."
				.formatted(name, ex.getActualType().getName(), MessageOrder.class.getName()));
		}
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
		this.properties.set("udp.max-reply-rate", udp.maxReplyRate(), builder::maxReplyRate, "be from 0 to 1000000");
		this.properties.set("udp.suspension-timeout", udp.suspensionTimeout(), builder::suspensionTimeout,
				"not be negative");
		this.properties.setBufferSize("udp.receive-buffer-size", udp.receiveBufferSize(), builder::receiveBufferSize);
		this.properties.setBufferSize("udp.send-buffer-size", udp.sendBufferSize(), builder::sendBufferSize);
		return builder;
	}

	private void listen(String name, Consumer<Integer> port, Consumer<InetAddress> address) {
		Server server = this.properties.values();
		if (server.port() != null) {
			this.properties.set("port", server.port(), port, "be from 0 to 65535");
		}
		else if (!name.equals(ConfiguredProperties.DEFAULT_NAME)) {
			throw this.properties.missing("port", "A port is required: only the server '%s' has one by default. "
				.formatted(ConfiguredProperties.DEFAULT_NAME) + "Use 0 for any free port.");
		}
		if (server.address() != null) {
			address.accept(server.address());
		}
	}

	private void set(String property, DataSize value, Consumer<Integer> setter, String rule) {
		this.properties.setSize(property, value, setter, rule);
	}

	/**
	 * Rejects properties that have no meaning for the transport of the server, instead of
	 * ignoring them. A property with its default value is accepted.
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
