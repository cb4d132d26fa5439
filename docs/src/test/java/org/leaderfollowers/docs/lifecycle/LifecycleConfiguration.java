package org.leaderfollowers.docs.lifecycle;

import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.interceptor.HandlerCallInterceptor;
import org.leaderfollowers.spring.interceptor.MessageHandlerInterceptor;
import org.leaderfollowers.spring.server.LeaderFollowersPoolBuilderCustomizer;
import org.leaderfollowers.spring.server.TcpServerBuilderCustomizer;
import org.slf4j.MDC;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;

@Configuration(proxyBeanMethods = false)
class LifecycleConfiguration {

	// tag::interceptor[]
	@Bean
	@Order(1)
	MessageHandlerInterceptor localClientsOnly() {
		return new MessageHandlerInterceptor() {

			@Override
			public boolean supports(String server) {
				return server.equals("orders");
			}

			@Override
			public void onOpen(Connection connection, MessageHandler next) throws Exception {
				if (!connection.remoteAddress().getAddress().isLoopbackAddress()) {
					throw new SecurityException("Only local clients may send orders");
				}
				next.onOpen(connection);
			}

		};
	}
	// end::interceptor[]

	// tag::call[]
	@Bean
	@Order(2)
	HandlerCallInterceptor connectionInTheLog() {
		return (connection, call) -> {
			MDC.put("connection", connection.server() + "-" + connection.id());
			try {
				call.proceed();
			}
			finally {
				MDC.remove("connection");
			}
		};
	}
	// end::call[]

	// tag::customizers[]
	@Bean
	TcpServerBuilderCustomizer smallBacklog() {
		return (server, builder) -> {
			if (server.equals("orders")) {
				builder.backlog(16);
			}
		};
	}

	@Bean
	LeaderFollowersPoolBuilderCustomizer asManyThreadsAsConnections(DatabaseProperties database) {
		return (pool, builder) -> {
			if (pool.equals("database")) {
				builder.threads(2, database.connections() + 2);
			}
		};
	}
	// end::customizers[]

	@Bean
	DatabaseProperties database() {
		return new DatabaseProperties(10);
	}

	record DatabaseProperties(int connections) {
	}

}
