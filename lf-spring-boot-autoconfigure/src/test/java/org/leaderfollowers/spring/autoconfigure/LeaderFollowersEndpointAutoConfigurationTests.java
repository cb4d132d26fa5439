package org.leaderfollowers.spring.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.Map;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import jakarta.servlet.Filter;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.actuate.ClientsEndpoint;
import org.leaderfollowers.spring.actuate.ConnectionsEndpoint;
import org.leaderfollowers.spring.actuate.ConnectionsEndpointWebExtension;
import org.leaderfollowers.spring.actuate.HandOffsEndpoint;
import org.leaderfollowers.spring.actuate.HandOffsEndpointWebExtension;
import org.leaderfollowers.spring.actuate.LeaderFollowersEndpoint;
import org.leaderfollowers.spring.actuate.LeaderFollowersEndpointWebExtension;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.leaderfollowers.spring.actuate.ServerDescriptor;
import org.leaderfollowers.spring.actuate.SessionsEndpoint;
import org.leaderfollowers.spring.limit.ClientLimiters;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.autoconfigure.AutoConfigurationImportSelector;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.context.runner.ReactiveWebApplicationContextRunner;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.annotation.AnnotationAttributes;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.web.server.WebFilter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link LeaderFollowersEndpointAutoConfiguration}.
 */
class LeaderFollowersEndpointAutoConfigurationTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
				LeaderFollowersEndpointAutoConfiguration.class))
		.withPropertyValues("management.endpoints.web.exposure.include=leaderfollowers");

	@Test
	void exposedEndpointIsThere() {
		this.contextRunner.run((context) -> assertThat(context).hasSingleBean(LeaderFollowersEndpoint.class));
	}

	@ParameterizedTest
	@CsvSource({ "orders,orders", "'',", "' '," })
	void endpointNamesTheApplication(String name, @Nullable String shown) {
		this.contextRunner.withPropertyValues("spring.application.name=" + name)
			.run((context) -> assertThat(context.getBean(LeaderFollowersEndpoint.class).leaderFollowers().application())
				.isEqualTo(shown));
	}

	@Test
	void endpointShowsTheMethodsOfHandlers() {
		this.contextRunner.withPropertyValues("lf.server.port=0").withBean(Answering.class).run((context) -> {
			LeaderFollowersEndpoint endpoint = context.getBean(LeaderFollowersEndpoint.class);
			OperationResponseBody answer = context.getBean(LeaderFollowersEndpointWebExtension.class)
				.server(SecurityContext.NONE, "default", "default")
				.getBody();
			assertThat(List.of(endpoint.server("default", "default"), answer))
				.allSatisfy((shown) -> assertThat(((ServerDescriptor) shown).mappings()).asString()
					.contains("Answering.answer(String)"));
		});
	}

	@Test
	void endpointThatIsNotExposedIsNotThere() {
		this.contextRunner.withPropertyValues("management.endpoints.web.exposure.include=health")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(LeaderFollowersEndpoint.class));
	}

	private static final Map<String, Class<?>> ENDPOINTS = Map.of("leaderfollowers", LeaderFollowersEndpoint.class,
			"lfhandoffs", HandOffsEndpoint.class, "lfconnections", ConnectionsEndpoint.class, "lfclients",
			ClientsEndpoint.class, "lfsessions", SessionsEndpoint.class);

	private static final List<Class<?>> EXTENSIONS = List.of(LeaderFollowersEndpointWebExtension.class,
			HandOffsEndpointWebExtension.class, ConnectionsEndpointWebExtension.class,
			SessionsEndpoint.WebExtension.class);

	private ApplicationContextRunner withSessions(String web) {
		return this.contextRunner
			.withConfiguration(AutoConfigurations.of(LeaderFollowersSessionAutoConfiguration.class))
			.withPropertyValues("management.endpoints.web.exposure.include=" + web,
					"management.endpoints.jmx.exposure.include=");
	}

	@ParameterizedTest
	@ValueSource(strings = { "leaderfollowers", "lfhandoffs", "lfconnections", "lfclients", "lfsessions" })
	void eachEndpointIsThereIfItIsExposed(String exposed) {
		withSessions(exposed).run((context) -> ENDPOINTS.forEach((name,
				type) -> assertThat(context.getBeansOfType(type)).as(name).hasSize(name.equals(exposed) ? 1 : 0)));
	}

	@Test
	void extensionsAreForTheWeb() {
		withSessions("*").run((context) -> EXTENSIONS.forEach((type) -> assertThat(context).hasSingleBean(type)));
		withSessions("").withPropertyValues("management.endpoints.jmx.exposure.include=*", "spring.jmx.enabled=true")
			.run((context) -> {
				ENDPOINTS.values().forEach((type) -> assertThat(context).hasSingleBean(type));
				EXTENSIONS.forEach((type) -> assertThat(context).doesNotHaveBean(type));
			});
	}

	@Test
	void withoutSessionsThereIsNoEndpointForThem() {
		this.contextRunner.withPropertyValues("management.endpoints.web.exposure.include=*")
			.run((context) -> assertThat(context).hasNotFailed()
				.hasSingleBean(ClientsEndpoint.class)
				.doesNotHaveBean(SessionsEndpoint.class));
	}

	@Test
	void eachEndpointOfTheUserTakesItsPlace() {
		ApplicationContextRunner mine = withSessions("*");
		for (Class<?> type : ENDPOINTS.values()) {
			mine = mine.withBean(type.getSimpleName(), typed(type), () -> mock(typed(type)));
		}
		for (Class<?> type : EXTENSIONS) {
			mine = mine.withBean(type.getSimpleName(), typed(type), () -> mock(typed(type)));
		}
		mine.run((context) -> {
			ENDPOINTS.values().forEach((type) -> assertThat(context).hasSingleBean(type));
			EXTENSIONS.forEach((type) -> assertThat(context).hasSingleBean(type));
		});
	}

	@SuppressWarnings("unchecked")
	private static Class<Object> typed(Class<?> type) {
		return (Class<Object>) type;
	}

	@Test
	void endpointWithoutAccessIsNotThere() {
		this.contextRunner.withPropertyValues("management.endpoint.leaderfollowers.access=NONE")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(LeaderFollowersEndpoint.class));
	}

	@ParameterizedTest
	@ValueSource(strings = { "org.springframework.boot.actuate", "org.springframework.boot.actuate.autoconfigure" })
	void withoutTheActuatorEverythingElseWorks(String missing) {
		new ApplicationContextRunner().withClassLoader(new FilteredClassLoader(missing))
			.withUserConfiguration(Application.class)
			.run((context) -> assertThat(context).hasNotFailed()
				.hasSingleBean(LeaderFollowersServers.class)
				.hasSingleBean(ServerMetrics.class)
				.doesNotHaveBean(LeaderFollowersEndpointAutoConfiguration.class));
	}

	@Test
	void withoutTheEngineThereIsNoEndpoint() {
		this.contextRunner.withClassLoader(new FilteredClassLoader(TcpServer.class))
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(LeaderFollowersEndpoint.class));
	}

	@Test
	void ifDisabledThereIsNoEndpoint() {
		this.contextRunner.withPropertyValues("lf.enabled=false")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(LeaderFollowersEndpoint.class));
	}

	/** The filter would see each request of the application. */
	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void ifDisabledNoFilterSetsHeaders(boolean enabled) {
		new WebApplicationContextRunner().withUserConfiguration(EndpointHeadersConfiguration.class)
			.withPropertyValues("lf.enabled=" + enabled)
			.run((context) -> assertThat(context.getBeansOfType(Filter.class)).hasSize(enabled ? 1 : 0));
		new ReactiveWebApplicationContextRunner().withUserConfiguration(EndpointHeadersConfiguration.class)
			.withPropertyValues("lf.enabled=" + enabled)
			.run((context) -> assertThat(context.getBeansOfType(WebFilter.class)).hasSize(enabled ? 1 : 0));
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			max-duration     | 0s    | Must be more than 0.
			max-duration     | -1s   | Must be more than 0.
			max-segment-size | 17KB  | Must be from 1 to 16384 bytes.
			max-segment-size | -1B   | Must be from 1 to 16384 bytes.
			max-size         | 0B    | Must be at least 1 byte.
			max-size         | -1B   | Must be at least 1 byte.
			""")
	void limitsOfWireLogsAreCheckedEvenIfNoEndpointIsExposed(String property, String value, String reason) {
		this.contextRunner.withPropertyValues("lf.logging.wire." + property + "=" + value)
			.run((context) -> assertThat(context).getFailure()
				.hasStackTraceContaining("Property lf.logging.wire." + property)
				.hasStackTraceContaining(reason));
	}

	@Test
	void endpointOfTheUserTakesItsPlace() {
		this.contextRunner.withBean("mine", LeaderFollowersEndpoint.class,
				() -> new LeaderFollowersEndpoint(null, new LeaderFollowersPools(List.of(), Map.of()),
						LeaderFollowersServers.builder().build(), new ClientLimiters(null), (caller) -> false,
						(name) -> List.of(), Duration.ZERO, (event) -> {
						}))
			.run((context) -> assertThat(context).hasSingleBean(LeaderFollowersEndpoint.class).hasBean("mine"));
	}

	@Configuration(proxyBeanMethods = false)
	@Import(OwnAutoConfigurations.class)
	static class Application {

		@Bean
		MeterRegistry meterRegistry() {
			return new SimpleMeterRegistry();
		}

	}

	@LfHandler
	static class Answering {

		@OnMessage
		String answer(String message) {
			return message;
		}

	}

	/**
	 * Selects auto-configurations by class names, as Boot does, so that classes may be
	 * missing. Those of the Actuator are left out, because they are missing wherever its
	 * classes are missing.
	 */
	static class OwnAutoConfigurations extends AutoConfigurationImportSelector {

		@Override
		protected AnnotationAttributes getAttributes(AnnotationMetadata metadata) {
			return new AnnotationAttributes(Map.of("exclude", new String[0], "excludeName", new String[0]));
		}

		@Override
		protected List<String> getCandidateConfigurations(AnnotationMetadata metadata,
				@Nullable AnnotationAttributes attributes) {
			return super.getCandidateConfigurations(metadata, attributes).stream()
				.filter((name) -> name.startsWith("org.leaderfollowers."))
				.toList();
		}

	}

}
