package org.leaderfollowers.spring.autoconfigure;

import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.Framing;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.spring.EchoHandler;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.actuate.ClientsEndpoint;
import org.leaderfollowers.spring.actuate.ConnectionsEndpoint;
import org.leaderfollowers.spring.actuate.HandOffsEndpoint;
import org.leaderfollowers.spring.actuate.LeaderFollowersDescriptor;
import org.leaderfollowers.spring.actuate.PoolDescriptor;
import org.leaderfollowers.spring.actuate.ServerDescriptor;
import org.leaderfollowers.spring.actuate.SessionsEndpoint;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.autoconfigure.FramingBeanTests.Semicolon;
import org.leaderfollowers.spring.client.ImportLfClients;
import org.leaderfollowers.spring.client.LeaderFollowersClients;
import org.leaderfollowers.spring.client.QuotesClient;
import org.leaderfollowers.spring.interceptor.MessageHandlerInterceptor;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.aot.test.generate.TestGenerationContext;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.actuate.autoconfigure.endpoint.EndpointAutoConfiguration;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.annotation.Order;
import org.springframework.core.test.tools.CompileWithForkedClassLoader;
import org.springframework.core.test.tools.Compiled;
import org.springframework.core.test.tools.TestCompiler;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.javapoet.ClassName;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/** An application whose context was processed ahead of time, as for a native image. */
class AheadOfTimeTests {

	private static final String HIDDEN = "org.leaderfollowers.spring.client.hidden";

	private static final String[] PROPERTIES = { "lf.server.port=0", "lf.servers.orders.port=0",
			"lf.servers.quotes.port=0", "lf.clients.quotes.addresses=127.0.0.1:1",
			"lf.clients.quotes.correlation.type=in-order", "lf.clients.quotes.place-timeout=0s",
			"lf.servers.orders.framing.bean=semicolon", "lf.servers.orders.max-connections=3",
			"lf.pools.slow.threads.max=7", "management.endpoints.jmx.exposure.include=*",
			"management.endpoints.web.exposure.include=*", "spring.jmx.enabled=true" };

	@Test
	@CompileWithForkedClassLoader
	void handlersInterceptorsAndFramingsAreFound() {
		compile(Application.class, (hints, context) -> {
			context.refresh();
			LeaderFollowersServers servers = context.getBean(LeaderFollowersServers.class);
			assertThat(servers.names()).containsExactlyInAnyOrder("default", "orders", "quotes");
			assertThat(servers.get("orders").snapshot().framing()).isEqualTo("semicolon framing");
			assertThat(servers.get("orders").snapshot().maxConnections()).isEqualTo(3);
			try (LineClient client = new LineClient(servers.get("default").port());
					LineClient quotes = new LineClient(servers.get("quotes").port());
					LineClient orders = new LineClient(servers.get("orders").port())) {
				assertThat(client.ask("hello")).isEqualTo("outer inner hello");
				assertThat(quotes.ask("{\"symbol\":\"X\"}")).isEqualTo("{\"symbol\":\"X\",\"price\":42}");
				assertThat(orders.ask("hello;\n;")).isEqualTo("orders outer inner hello;orders outer inner ");
			}
			catch (Exception ex) {
				throw new IllegalStateException(ex);
			}
			context.close();
		});
	}

	@Test
	@CompileWithForkedClassLoader
	void clientsAndTheirInterfacesAreFound() {
		compile(Application.class, (hints, context) -> {
			context.refresh();
			TcpClient client = context.getBean(Asking.class).client();
			assertThat(client).isSameAs(context.getBean(LeaderFollowersClients.class).get("quotes"));
			QuotesClient quotes = context.getBean(QuotesClient.class);
			assertThatExceptionOfType(ExchangeRejectedException.class)
				.isThrownBy(() -> quotes.ask(new QuotesClient.Ask("X")));
			assertThat(quotes.name()).isEqualTo("quotes");
			assertThat(context.getBean(HIDDEN + ".HiddenClient"))
				.hasToString(HIDDEN + ".HiddenClient of client 'quotes'");
			context.close();
			assertThat(RuntimeHintsPredicates.proxies().forInterfaces(QuotesClient.class)).accepts(hints);
			for (Class<?> type : List.of(QuotesClient.Ask.class, QuotesClient.Answer.class, ClientProperties.class,
					ClientProperties.Backoff.class)) {
				assertThat(
						RuntimeHintsPredicates.reflection().onConstructorInvocation(type.getDeclaredConstructors()[0]))
					.as(type.getName())
					.accepts(hints);
			}
		});
	}

	@Test
	@CompileWithForkedClassLoader
	void failuresStillNameTheBean() {
		compile(Misplaced.class,
				(hints, context) -> assertThatExceptionOfType(Exception.class).isThrownBy(context::refresh)
					.havingRootCause()
					.satisfies((failure) -> assertThat(failure).hasMessageContaining("There is no server named 'lost'")
						.extracting("reference")
						.isEqualTo("'misplaced', defined by method 'misplaced' in " + Misplaced.class.getName())));
	}

	@Test
	@CompileWithForkedClassLoader
	void methodsOfHandlersAndWhatTheyConvertHaveHints() {
		compile(Application.class, (hints, context) -> {
			for (Method method : Quotes.class.getDeclaredMethods()) {
				if (!method.isSynthetic()) {
					assertThat(RuntimeHintsPredicates.reflection().onMethodInvocation(method)).accepts(hints);
				}
			}
			assertThat(RuntimeHintsPredicates.reflection()
				.onConstructorInvocation(Query.class.getDeclaredConstructors()[0])).accepts(hints);
			assertThat(RuntimeHintsPredicates.reflection()
				.onMethodInvocation(Quote.class.getRecordComponents()[1].getAccessor())).accepts(hints);
			assertThat(RuntimeHintsPredicates.reflection().onType(Connection.class)).rejects(hints);
		});
	}

	@Test
	@CompileWithForkedClassLoader
	void whatIsReflectedUponHasHints() throws ClassNotFoundException {
		Class<?> refusal = Class
			.forName("org.leaderfollowers.spring.actuate.RefusedRequestException$RefusalDescriptor");
		compile(Application.class, (hints, context) -> {
			for (Class<?> type : LfProperties.class.getDeclaredClasses()) {
				if (type.isRecord()) {
					assertThat(RuntimeHintsPredicates.reflection()
						.onConstructorInvocation(type.getDeclaredConstructors()[0])).as(type.getName()).accepts(hints);
				}
			}
			List<Class<?>> answers = new ArrayList<>(List.of(LeaderFollowersDescriptor.class.getDeclaredClasses()));
			answers.addAll(List.of(PoolDescriptor.class.getDeclaredClasses()));
			answers.addAll(List.of(ServerDescriptor.class.getDeclaredClasses()));
			answers.addAll(List.of(HandOffsEndpoint.class.getDeclaredClasses()));
			answers.addAll(List.of(ConnectionsEndpoint.class.getDeclaredClasses()));
			answers.addAll(List.of(ClientsEndpoint.class.getDeclaredClasses()));
			answers.addAll(List.of(SessionsEndpoint.class.getDeclaredClasses()));
			answers.addAll(List.of(LeaderFollowersDescriptor.class, PoolDescriptor.class, ServerDescriptor.class));
			answers.add(refusal);
			for (Class<?> type : answers) {
				if (type.isRecord()) {
					for (var component : type.getRecordComponents()) {
						assertThat(RuntimeHintsPredicates.reflection().onMethodInvocation(component.getAccessor()))
							.as(type.getName() + "." + component.getName())
							.accepts(hints);
					}
				}
			}
			assertThat(RuntimeHintsPredicates.reflection()
				.onType(CloseReason.class)
				.withMemberCategory(MemberCategory.ACCESS_DECLARED_FIELDS)).accepts(hints);
			assertThat(RuntimeHintsPredicates.reflection().onType(Application.class)).accepts(hints);
			assertThat(
					RuntimeHintsPredicates.resource().forResource("org/leaderfollowers/spring/actuate/taxi-stand.html"))
				.accepts(hints);
		});
	}

	@Test
	@CompileWithForkedClassLoader
	void innerBeansAreNeitherHandlersNorClients() {
		compile(InnerBean.class, new String[0], (hints, context) -> {
			context.refresh();
			assertThat(context.getBean(Outer.class).inner()).isInstanceOf(Echo.class);
			assertThat(context.getBean(LeaderFollowersServers.class).names()).isEmpty();
			context.close();
		});
	}

	private static void compile(Class<?> configuration, BiConsumer<RuntimeHints, GenericApplicationContext> test) {
		compile(configuration, PROPERTIES, test);
	}

	private static void compile(Class<?> configuration, String[] properties,
			BiConsumer<RuntimeHints, GenericApplicationContext> test) {
		AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
		context.register(configuration);
		TestPropertyValues.of(properties).applyTo(context);
		TestGenerationContext generation = new TestGenerationContext();
		ClassName initializer = new ApplicationContextAotGenerator().processAheadOfTime(context, generation);
		generation.writeGeneratedContent();
		TestCompiler.forSystem().with(generation).compile((compiled) -> {
			GenericApplicationContext fresh = new GenericApplicationContext();
			fresh.setClassLoader(compiled.getClassLoader());
			TestPropertyValues.of(properties).applyTo(fresh);
			instance(compiled, initializer).initialize(fresh);
			test.accept(generation.getRuntimeHints(), fresh);
		});
	}

	@SuppressWarnings("unchecked")
	private static ApplicationContextInitializer<GenericApplicationContext> instance(Compiled compiled,
			ClassName initializer) {
		return compiled.getInstance(ApplicationContextInitializer.class, initializer.toString());
	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration({ LeaderFollowersAutoConfiguration.class, EndpointAutoConfiguration.class,
			LeaderFollowersEndpointAutoConfiguration.class, LeaderFollowersSessionAutoConfiguration.class })
	@Import({ Echo.class, Quotes.class, Asking.class })
	@ImportLfClients(value = QuotesClient.class, basePackages = HIDDEN)
	static class Application {

		@Bean
		@LfHandler("orders")
		MessageHandler orders() {
			return new EchoHandler("orders ");
		}

		@Bean
		Framing semicolon() {
			return new Semicolon();
		}

		@Bean
		@Order(2)
		MessageHandlerInterceptor first() {
			return new Prefix("outer ");
		}

		@Bean
		@Order(1)
		MessageHandlerInterceptor second() {
			return new Prefix("inner ");
		}

	}

	@LfHandler("quotes")
	static class Quotes {

		@OnMessage
		Optional<Quote> quote(Query query, Connection connection) {
			return Optional.of(new Quote(query.symbol(), 42));
		}

		@OnError
		String failed(IllegalStateException failure) {
			return "failed";
		}

	}

	record Asking(@Qualifier("quotes") TcpClient client) {
	}

	record Query(String symbol) {
	}

	record Quote(String symbol, int price) {
	}

	@LfHandler
	static class Echo extends EchoHandler {

	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration(LeaderFollowersAutoConfiguration.class)
	static class Misplaced {

		@Bean
		@LfHandler("lost")
		MessageHandler misplaced() {
			return new EchoHandler();
		}

	}

	/** Registers a bean as it is registered in XML, for example. */
	static class InnerBeanRegistrar implements ImportBeanDefinitionRegistrar {

		@Override
		public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
			RootBeanDefinition outer = new RootBeanDefinition(Outer.class);
			outer.getConstructorArgumentValues().addIndexedArgumentValue(0, new RootBeanDefinition(Echo.class));
			registry.registerBeanDefinition("outer", outer);
		}

	}

	record Outer(EchoHandler inner) {
	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration(LeaderFollowersAutoConfiguration.class)
	@Import(InnerBeanRegistrar.class)
	static class InnerBean {

	}

	/**
	 * Puts a prefix in front of each message. The innermost interceptor is called last,
	 * so its prefix comes first.
	 */
	static class Prefix implements MessageHandlerInterceptor {

		private final String prefix;

		Prefix(String prefix) {
			this.prefix = prefix;
		}

		@Override
		public boolean supports(String server) {
			return !server.equals("quotes");
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message, MessageHandler next) throws Exception {
			String text = StandardCharsets.UTF_8.decode(message).toString();
			next.onMessage(connection, StandardCharsets.UTF_8.encode(this.prefix + text));
		}

	}

}
