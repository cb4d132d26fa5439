package org.leaderfollowers.docs.clients;

import java.nio.ByteBuffer;

import org.leaderfollowers.Correlation;
import org.leaderfollowers.spring.client.TcpClientBuilderCustomizer;
import org.leaderfollowers.spring.interceptor.ExchangeInterceptor;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * Beans for clients.
 */
@Configuration(proxyBeanMethods = false)
class ClientConfiguration {

	// tag::correlation[]
	@Bean
	Correlation traceNumber() {
		return Correlation.byKey((message) -> message.getInt(message.position() + 4));
	}
	// end::correlation[]

	// tag::customizer[]
	@Bean
	TcpClientBuilderCustomizer queriesAreRepeated() {
		return (client, builder) -> builder.idempotent(ClientConfiguration::isQuery);
	}
	// end::customizer[]

	private static boolean isQuery(ByteBuffer request) {
		return request.get(request.position()) == '?';
	}

	// tag::interceptor[]
	@Bean
	ExchangeInterceptor limits() {
		return new ExchangeInterceptor() {

			@Override
			public boolean supports(String client) {
				return client.equals("ledger");
			}

			@Override
			public Object aroundExchange(ExchangeCall call) throws Exception {
				if (call.request() instanceof Ledger.Order order && order.amount() > 10_000) {
					throw new IllegalArgumentException("The teller must not book more than 10,000");
				}
				return call.proceed();
			}

		};
	}
	// end::interceptor[]

}
