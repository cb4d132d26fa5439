package org.leaderfollowers.integration;

import java.net.InetAddress;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.HttpMethod;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.config.web.server.ServerHttpSecurity;
import org.springframework.security.core.userdetails.MapReactiveUserDetailsService;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.core.userdetails.UserDetails;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.security.web.server.SecurityWebFilterChain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The endpoints of an application with Spring Security.
 */
@ExtendWith(OutputCaptureExtension.class)
class SecurityTests {

	private static final String SERVER = "/actuator/leaderfollowers/default/default";

	private static final String PAUSE = "{\"action\":\"pause\"}";

	private static final String[] WRITABLE = { "management.endpoints.web.exposure.include=*",
			"management.endpoint.leaderfollowers.access=unrestricted",
			"management.endpoint.lfconnections.show-remote-addresses=when-authorized",
			"management.endpoint.lfconnections.roles=OPERATOR" };

	@ParameterizedTest
	@EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
	void asBootConfiguresItWhoIsUnknownGetsNothingAndNothingIsWrittenWithoutAToken(WebApplicationType stack)
			throws Exception {
		try (OperatedApplication application = OperatedApplication.run(stack, List.of(Users.class), WRITABLE)) {
			for (String path : List.of("/actuator/leaderfollowers", SERVER, "/actuator/lfhandoffs",
					"/actuator/lfconnections")) {
				assertThat(application.get(path).statusCode()).isEqualTo(401);
				assertThat(application.sendAs("bob", path, HttpRequest.newBuilder()).statusCode()).isEqualTo(200);
			}
			// The page that would tell of the missing token asks for a user again.
			assertThat(application.post(SERVER, PAUSE).statusCode()).isIn(401, 403);
			assertThat(application.sendAs("alice", SERVER, OperatedApplication.posting(PAUSE)).statusCode()).isIn(401,
					403);
			assertThat(application.server().isPaused()).isFalse();
			assertThat(application.audit()).isEmpty();
		}
	}

	@ParameterizedTest
	@EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
	void auditTellsWhoItWas(WebApplicationType stack, CapturedOutput output) throws Exception {
		try (OperatedApplication application = OperatedApplication.run(stack, List.of(Users.class, chain(stack)),
				WRITABLE)) {
			assertThat(application.sendAs("bob", SERVER, OperatedApplication.posting(PAUSE)).statusCode())
				.isEqualTo(403);
			assertThat(application.audit()).isEmpty();
			assertThat(application.sendAs("alice", SERVER, OperatedApplication.posting(PAUSE)).statusCode())
				.isEqualTo(200);
			assertThat(application.audit()).singleElement()
				.satisfies((event) -> assertThat(event.getPrincipal()).isEqualTo("alice"));
			assertThat(output).containsOnlyOnce("Server 'default' is paused by 'alice' through Actuator");
		}
	}

	@ParameterizedTest
	@EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
	void nameOfAUserDoesNotForgeALine(WebApplicationType stack, CapturedOutput output) throws Exception {
		try (OperatedApplication application = OperatedApplication.run(stack, List.of(Users.class, chain(stack)),
				WRITABLE)) {
			assertThat(application.sendAs(Users.HOSTILE, SERVER, OperatedApplication.posting(PAUSE)).statusCode())
				.isEqualTo(200);
			assertThat(application.audit()).singleElement()
				.satisfies((event) -> assertThat(event.getPrincipal()).isEqualTo("eve?FORGED?[2J"));
			assertThat(output).contains("is paused by 'eve?FORGED?[2J' through Actuator").doesNotContain("\nFORGED");
		}
	}

	@ParameterizedTest
	@EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
	void addressesAreForThoseWhoAreAuthorized(WebApplicationType stack) throws Exception {
		try (OperatedApplication application = OperatedApplication.run(stack, List.of(Users.class), WRITABLE);
				Socket client = new Socket(InetAddress.getLoopbackAddress(), application.server().port())) {
			await().atMost(Duration.ofSeconds(60)).until(() -> application.server().snapshot().openConnections() == 1);
			HttpResponse<String> alice = application.sendAs("alice", "/actuator/lfconnections",
					HttpRequest.newBuilder());
			assertThat(alice.body()).contains("\"remoteAddress\":\"127.0.0.1:" + client.getLocalPort() + "\"");
			HttpResponse<String> bob = application.sendAs("bob", "/actuator/lfconnections", HttpRequest.newBuilder());
			assertThat(bob.statusCode()).isEqualTo(200);
			assertThat(bob.body()).contains("\"total\":1").doesNotContain("remoteAddress").doesNotContain("127.0.0.1");
		}
	}

	@Test
	void chainsOfTheGuideLetViewersReadAndOperatorsWrite() throws Exception {
		try (OperatedApplication application = OperatedApplication.run(WebApplicationType.SERVLET,
				List.of(Users.class, OperatorSecurity.class), WRITABLE)) {
			assertThat(application.get("/actuator/health").statusCode()).isEqualTo(200);
			assertThat(application.get("/actuator/leaderfollowers").statusCode()).isEqualTo(401);
			assertThat(application.post(SERVER, PAUSE).statusCode()).isEqualTo(401);
			assertThat(application.get("/").statusCode()).as("login").isEqualTo(302);
			assertThat(application.sendAs("bob", "/actuator/leaderfollowers", HttpRequest.newBuilder()).statusCode())
				.isEqualTo(403);
			HttpResponse<String> page = application.sendAs("vera", "/actuator/leaderfollowers",
					HttpRequest.newBuilder().header("Accept", "text/html"));
			assertThat(page.statusCode()).isEqualTo(200);
			assertThat(page.headers().firstValue("Content-Type"))
				.hasValueSatisfying((type) -> assertThat(type).startsWith("text/html"));
			assertThat(page.headers().allValues("Set-Cookie")).isEmpty();
			assertThat(application.sendAs("vera", SERVER, OperatedApplication.posting(PAUSE)).statusCode())
				.isEqualTo(403);
			assertThat(application.server().isPaused()).isFalse();
			assertThat(application.sendAs("alice", SERVER, OperatedApplication.posting(PAUSE)).statusCode())
				.isEqualTo(200);
			assertThat(application.server().isPaused()).isTrue();
		}
	}

	private static Class<?> chain(WebApplicationType stack) {
		return (stack == WebApplicationType.SERVLET) ? ServletChain.class : ReactiveChain.class;
	}

	@Configuration(proxyBeanMethods = false)
	static class Users {

		private static final String HOSTILE = "eve\nFORGED\u001b[2J";

		@Bean
		@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
		InMemoryUserDetailsManager users() {
			return new InMemoryUserDetailsManager(all());
		}

		@Bean
		@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.REACTIVE)
		MapReactiveUserDetailsService reactiveUsers() {
			return new MapReactiveUserDetailsService(all());
		}

		private static List<UserDetails> all() {
			return List.of(user("alice", "OPERATOR"), user("bob", "USER"), user("vera", "VIEWER"),
					user(HOSTILE, "OPERATOR"));
		}

		private static UserDetails user(String name, String role) {
			return User.withUsername(name).password("{noop}secret").roles(role).build();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ServletChain {

		@Bean
		SecurityFilterChain operators(HttpSecurity http) {
			return http.csrf((csrf) -> csrf.disable())
				.authorizeHttpRequests((requests) -> requests.requestMatchers(HttpMethod.GET)
					.authenticated()
					.anyRequest()
					.hasRole("OPERATOR"))
				.httpBasic(Customizer.withDefaults())
				.build();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ReactiveChain {

		@Bean
		SecurityWebFilterChain operators(ServerHttpSecurity http) {
			return http.csrf((csrf) -> csrf.disable())
				.authorizeExchange((exchanges) -> exchanges.pathMatchers(HttpMethod.GET)
					.authenticated()
					.anyExchange()
					.hasRole("OPERATOR"))
				.httpBasic(Customizer.withDefaults())
				.build();
		}

	}

}
