package org.leaderfollowers.spring.autoconfigure;

import java.util.List;

import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.TransportType;
import org.leaderfollowers.UdpServer;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Server;
import org.leaderfollowers.spring.event.EventPublication;
import org.leaderfollowers.spring.handler.HandlerFactory;
import org.leaderfollowers.spring.handler.HandlerSource;
import org.leaderfollowers.spring.interceptor.MessageHandlerDecorator;
import org.leaderfollowers.spring.server.ServerRegistration;
import org.leaderfollowers.spring.server.TcpServerBuilderCustomizer;
import org.leaderfollowers.spring.server.UdpServerBuilderCustomizer;

import org.springframework.boot.util.LambdaSafe;

/**
 * Puts a server together: properties, handler and what surrounds it, customizers.
 *
 * @param framings framings of the application
 * @param ssl makes servers speak TLS
 * @param handlers makes handlers of beans
 * @param decorators what surrounds the handlers, the outermost first
 * @param customizers what changes the builders of TCP servers, in order
 * @param udpCustomizers what changes the builders of UDP servers, in order
 * @param events where the events of connections are published
 */
record ServerAssembly(FramingBeans framings, SslPropertiesMapper ssl, HandlerFactory handlers,
		List<MessageHandlerDecorator> decorators, List<TcpServerBuilderCustomizer> customizers,
		List<UdpServerBuilderCustomizer> udpCustomizers, EventPublication events) {

	ServerRegistration registration(String name, ConfiguredProperties<Server> properties, LeaderFollowersPool pool,
			HandlerSource handler) {
		ServerPropertiesMapper mapper = new ServerPropertiesMapper(properties, this.framings);
		boolean udp = properties.values().transport() == TransportType.UDP;
		// Now, so that invalid values are found before anything is started.
		if (udp) {
			mapper.mapUdp(name, pool);
		}
		else {
			mapper.map(name, pool);
			this.ssl.check(properties);
		}
		MessageHandler decorated = this.handlers.create(handler, properties.values().charset(), !udp,
				(bean) -> decorate(bean, name, handler.name()));
		if (udp) {
			return ServerRegistration.ofProperties(name, properties.prefix(),
					() -> buildUdp(name, mapper.mapUdp(name, pool), decorated, handler.name()));
		}
		return ServerRegistration.ofProperties(name, properties.prefix(), () -> {
			TcpServer.Builder builder = mapper.map(name, pool)
				.handler(this.events.decorate(decorated))
				.handlerName(handler.name());
			LambdaSafe.callbacks(TcpServerBuilderCustomizer.class, this.customizers, name, builder)
				.withLogger(ServerAssembly.class)
				.invoke((customizer) -> customizer.customize(name, builder));
			return this.ssl.build(properties, builder);
		});
	}

	private UdpServer buildUdp(String name, UdpServer.Builder builder, MessageHandler handler, String handlerName) {
		builder.handler(this.events.decorate(handler)).handlerName(handlerName);
		LambdaSafe.callbacks(UdpServerBuilderCustomizer.class, this.udpCustomizers, name, builder)
			.withLogger(ServerAssembly.class)
			.invoke((customizer) -> customizer.customize(name, builder));
		return builder.build();
	}

	private MessageHandler decorate(MessageHandler handler, String server, String handlerName) {
		MessageHandler decorated = handler;
		for (int i = this.decorators.size() - 1; i >= 0; i--) {
			decorated = this.decorators.get(i).decorate(decorated, server, handlerName);
		}
		return decorated;
	}

}
