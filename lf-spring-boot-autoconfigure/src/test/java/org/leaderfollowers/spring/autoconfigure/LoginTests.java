package org.leaderfollowers.spring.autoconfigure;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.Principal;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

import javax.net.ssl.SSLContext;

import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnLogin;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.handler.LfAuthentication;
import org.leaderfollowers.spring.handler.LfHeaders;
import org.leaderfollowers.spring.handler.LoginRequiredException;
import org.leaderfollowers.spring.handler.UnmatchedMessageException;
import org.leaderfollowers.spring.interceptor.HandlerCallInterceptor;
import org.leaderfollowers.spring.interceptor.HandlerCallInterceptor.HandlerCall;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.ssl.DefaultSslBundleRegistry;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.ssl.pem.PemSslStoreBundle;
import org.springframework.boot.ssl.pem.PemSslStoreDetails;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.handler.invocation.HandlerMethodArgumentResolver;
import org.springframework.security.authentication.AuthenticationEventPublisher;
import org.springframework.security.authentication.UsernamePasswordAuthenticationToken;
import org.springframework.security.authentication.password.CompromisedPasswordChecker;
import org.springframework.security.authentication.password.CompromisedPasswordDecision;
import org.springframework.security.core.Authentication;
import org.springframework.security.core.AuthenticationException;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.core.context.SecurityContextHolder;
import org.springframework.security.core.context.SecurityContextImpl;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.core.userdetails.UserDetails;
import org.springframework.security.core.userdetails.UserDetailsPasswordService;
import org.springframework.security.core.userdetails.UserDetailsService;
import org.springframework.security.crypto.password.PasswordEncoder;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.times;

/**
 * Clients that log in, with and without Spring Security.
 */
@ExtendWith(OutputCaptureExtension.class)
class LoginTests {

	@TempDir
	private static Path directory;

	private static final UserDetails ADA = User.withUsername("ada").password("{noop}secret").roles("OPERATOR").build();

	private final ApplicationContextRunner runner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(JacksonAutoConfiguration.class, LeaderFollowersAutoConfiguration.class,
				LeaderFollowersSecurityAutoConfiguration.class))
		.withPropertyValues("lf.server.port=0");

	@Test
	void messagesBeforeTheLoginReachOnlyTheMethodThatLogsIn() {
		this.runner.withClassLoader(new FilteredClassLoader("org.springframework.security"))
			.withUserConfiguration(Plain.class)
			.run((context) -> {
				assertThat(context).hasNotFailed().doesNotHaveBean("leaderFollowersSecurityInterceptor");
				try (LineClient client = connect(context.getBean(LeaderFollowersServers.class))) {
					assertThat(client.ask("GET a")).isEqualTo("log in first");
					assertThat(client.ask("nonsense")).isEqualTo("log in first");
					assertThat(client.ask("LOGIN ada")).isEqualTo("welcome ada");
					assertThat(client.ask("GET a")).isEqualTo("a of ada, ada");
					assertThat(client.ask("LOGIN bob")).isEqualTo("welcome bob");
					assertThat(client.ask("GET b")).isEqualTo("b of bob, bob");
				}
				try (LineClient client = connect(context.getBean(LeaderFollowersServers.class))) {
					assertThat(client.ask("GET a")).isEqualTo("log in first");
				}
			});
	}

	@Test
	void loginEndsTheLoginTimeout() {
		this.runner.withUserConfiguration(Plain.class)
			.withPropertyValues("lf.server.login-timeout=2s")
			.run((context) -> {
				LeaderFollowersServers servers = context.getBean(LeaderFollowersServers.class);
				try (LineClient client = loggedIn(servers); LineClient stranger = connect(servers)) {
					assertThat(stranger.read()).as("closed by the timeout").isNull();
					assertThat(client.ask("GET a")).isEqualTo("a of ada, ada");
				}
			});
	}

	/** On a machine that stalls, the timeout may come before the login. */
	private static LineClient loggedIn(LeaderFollowersServers servers) {
		return Awaitility.await().ignoreExceptions().until(() -> {
			LineClient client = connect(servers);
			return client.ask("LOGIN ada").equals("welcome ada") ? client : null;
		}, Objects::nonNull);
	}

	@Test
	void firstMessageLogsInIfNothingTellsItApart() {
		this.runner.withUserConfiguration(FirstMessage.class).run((context) -> {
			try (LineClient client = connect(context.getBean(LeaderFollowersServers.class))) {
				assertThat(client.ask("wrong")).isEqualTo("no");
				assertThat(client.ask("ada")).isEqualTo("yes");
				assertThat(client.ask("ada")).isEqualTo("echo ada");
			}
		});
	}

	@Test
	void handlersRunAsTheUserThatHasLoggedIn(CapturedOutput output) {
		this.runner.withUserConfiguration(Users.class, Secured.class).run((context) -> {
			LeaderFollowersServers servers = context.getBean(LeaderFollowersServers.class);
			try (LineClient client = connect(servers); LineClient other = connect(servers)) {
				assertThat(client.ask("WHO")).isEqualTo("<closed>");
				assertThat(output).contains("did not handle LoginRequiredException")
					.doesNotContain("at org.leaderfollowers");
				assertThat(other.ask("LOGIN ada wrong")).isEqualTo("denied");
				assertThat(other.ask("LOGIN ada secret")).isEqualTo("welcome ada");
				assertThat(other.ask("WHO")).isEqualTo("ada ada ada ada [ROLE_OPERATOR]");
				assertThat(other.ask("LOGOUT")).isEqualTo("bye");
				assertThat(other.ask("WHO")).isEqualTo("<closed>");
			}
			assertThat(SecurityContextHolder.getContext().getAuthentication()).isNull();
		});
	}

	@Test
	void loginUsesTheBeansOfSpringSecurity() {
		List<String> events = new ArrayList<>();
		UserDetailsPasswordService upgrades = (user, password) -> {
			events.add("upgraded " + user.getUsername() + " to " + password);
			return user;
		};
		AuthenticationEventPublisher publisher = mock();
		PasswordEncoder encoder = mock();
		given(encoder.matches("secret", "{noop}secret")).willReturn(true);
		given(encoder.upgradeEncoding("{noop}secret")).willReturn(true);
		given(encoder.encode("secret")).willReturn("stronger");
		AtomicBoolean known = new AtomicBoolean();
		this.runner.withUserConfiguration(Secured.class)
			.withBean(UserDetailsService.class, () -> new InMemoryUserDetailsManager(ADA)::loadUserByUsername)
			.withBean(UserDetailsPasswordService.class, () -> upgrades)
			.withBean(PasswordEncoder.class, () -> encoder)
			.withBean(CompromisedPasswordChecker.class,
					() -> (password) -> new CompromisedPasswordDecision(known.get()))
			.withBean(AuthenticationEventPublisher.class, () -> publisher)
			.run((context) -> {
				try (LineClient client = connect(context.getBean(LeaderFollowersServers.class))) {
					assertThat(client.ask("LOGIN ada secret")).isEqualTo("welcome ada");
					assertThat(events).containsExactly("upgraded ada to stronger");
					then(publisher).should().publishAuthenticationSuccess(any());
					known.set(true);
					assertThat(client.ask("LOGIN ada secret")).isEqualTo("denied");
				}
			});
	}

	@Test
	void ifDisabledThereIsNoAuthentication() {
		this.runner.withPropertyValues("lf.enabled=false")
			.run((context) -> assertThat(context).hasNotFailed()
				.doesNotHaveBean(LeaderFollowersSecurityAutoConfiguration.class)
				.doesNotHaveBean(LfAuthentication.class));
	}

	@Test
	void beansOfTheUserTakeThePlaceOfThoseForSecurity() {
		LfAuthentication authentication = new LfAuthentication(() -> mock(), () -> null);
		HandlerCallInterceptor interceptor = mock();
		HandlerMethodArgumentResolver resolver = mock();
		this.runner.withUserConfiguration(Plain.class)
			.withBean(LfAuthentication.class, () -> authentication)
			.withBean("leaderFollowersSecurityInterceptor", HandlerCallInterceptor.class, () -> interceptor)
			.withBean("leaderFollowersAuthenticationPrincipalResolver", HandlerMethodArgumentResolver.class,
					() -> resolver)
			.run((context) -> {
				assertThat(context).hasNotFailed();
				assertThat(context.getBean(LfAuthentication.class)).isSameAs(authentication);
				assertThat(context.getBean(HandlerCallInterceptor.class)).isSameAs(interceptor);
				assertThat(context.getBean(HandlerMethodArgumentResolver.class)).isSameAs(resolver);
			});
	}

	/** A pool may run an application's own code in the same thread. */
	@Test
	void callLeavesTheUserOfItsThreadAsItWas() {
		this.runner.withUserConfiguration(Users.class, Secured.class).run((context) -> {
			HandlerCallInterceptor interceptor = context.getBean("leaderFollowersSecurityInterceptor",
					HandlerCallInterceptor.class);
			Connection connection = mock();
			given(connection.attributes()).willReturn(new ConcurrentHashMap<>());
			HandlerCall call = mock();
			interceptor.aroundCall(connection, call);
			assertThat(SecurityContextHolder.getContext().getAuthentication()).isNull();
			Authentication outer = UsernamePasswordAuthenticationToken.unauthenticated("ada", "secret");
			SecurityContextHolder.setContext(new SecurityContextImpl(outer));
			try {
				interceptor.aroundCall(connection, call);
				assertThat(SecurityContextHolder.getContext().getAuthentication()).isSameAs(outer);
			}
			finally {
				SecurityContextHolder.clearContext();
			}
			then(call).should(times(2)).proceed();
			MessageHandler handler = mock();
			interceptor.onOpen(connection, handler);
			then(handler).should().onOpen(connection);
		});
	}

	@Test
	void serverWithNothingButLoginsTellsOthersToLogIn() {
		this.runner.withUserConfiguration(Subscriptions.class)
			.withPropertyValues("lf.server.login-timeout=60s")
			.run((context) -> {
				try (LineClient client = connect(context.getBean(LeaderFollowersServers.class))) {
					assertThat(client.ask("nonsense")).isEqualTo("log in first");
					assertThat(client.ask("LOGIN ada")).isEqualTo("welcome ada");
					assertThat(client.ask("nonsense")).isEqualTo("unmatched");
				}
			});
	}

	@Test
	void oneOfSeveralServicesOfUsersMustBePrimary(CapturedOutput output) {
		this.runner.withUserConfiguration(Users.class, Secured.class)
			.withBean("others", UserDetailsService.class, InMemoryUserDetailsManager::new)
			.run((context) -> {
				try (LineClient client = connect(context.getBean(LeaderFollowersServers.class))) {
					assertThat(client.ask("LOGIN ada secret")).isEqualTo("<closed>");
				}
				assertThat(output).contains("NoUniqueBeanDefinitionException");
			});
	}

	@LfHandler
	static class Subscriptions extends Refusing {

		@OnLogin(prefix = "LOGIN ")
		String login(String name, Connection connection) {
			connection.attributes().put(LfHeaders.PRINCIPAL, (Principal) () -> name);
			return "welcome " + name;
		}

		@OnError
		String unmatched(UnmatchedMessageException ex) {
			return "unmatched";
		}

	}

	static class Refusing {

		@OnError
		String failed(LoginRequiredException ex) {
			return "log in first";
		}

	}

	@Test
	void withoutALoginTheUserIsAnonymous() {
		this.runner.withUserConfiguration(Anonymous.class).run((context) -> {
			try (LineClient client = connect(context.getBean(LeaderFollowersServers.class))) {
				assertThat(client.ask("WHO")).isEqualTo("anonymousUser nobody");
			}
		});
	}

	@Test
	void loginThatNothingCanCheckFailsWithWhatToDo(CapturedOutput output) {
		this.runner.withUserConfiguration(Secured.class).run((context) -> {
			try (LineClient client = connect(context.getBean(LeaderFollowersServers.class))) {
				assertThat(client.ask("LOGIN ada secret")).isEqualTo("<closed>");
			}
			assertThat(output).contains("Nothing can check the credentials of a login: define one bean of type");
		});
	}

	@Test
	void certificateLogsIn() throws Exception {
		TestCertificate server = TestCertificate.create(directory, "server");
		TestCertificate ada = TestCertificate.create(directory, "ada");
		TestCertificate eve = TestCertificate.create(directory, "eve");
		PemSslStoreDetails key = PemSslStoreDetails.forCertificate(server.certificatePem())
			.withPrivateKey(server.keyPem());
		SslBundles bundles = new DefaultSslBundleRegistry("web", SslBundle.of(new PemSslStoreBundle(key,
				PemSslStoreDetails.forCertificate(ada.certificatePem() + eve.certificatePem()))));
		this.runner.withUserConfiguration(Users.class, Secured.class)
			.withBean(SslBundles.class, () -> bundles)
			.withPropertyValues("lf.server.ssl.bundle=web", "lf.server.ssl.client-auth=want")
			.run((context) -> {
				int port = context.getBean(LeaderFollowersServers.class).get("default").port();
				assertThat(askOverTls(port, TestCertificate.client(ada, server), "WHO"))
					.isEqualTo("ada ada ada ada [ROLE_OPERATOR]");
				assertThat(askOverTls(port, TestCertificate.client(null, server), "WHO")).isNull();
				assertThat(askOverTls(port, TestCertificate.client(null, server), "LOGIN ada secret"))
					.isEqualTo("welcome ada");
				assertThat(askOverTls(port, TestCertificate.client(eve, server), "WHO")).isEqualTo("denied");
			});
	}

	private static @Nullable String askOverTls(int port, SSLContext tls, String line) throws Exception {
		try (Socket socket = tls.getSocketFactory().createSocket("localhost", port)) {
			socket.setSoTimeout(60_000);
			socket.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
			return new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8))
				.readLine();
		}
	}

	private static LineClient connect(LeaderFollowersServers servers) throws Exception {
		return new LineClient(servers.get("default").port());
	}

	@LfHandler
	static class Plain {

		@OnLogin(prefix = "LOGIN ")
		String login(String name, Connection connection) {
			Principal principal = () -> name;
			connection.attributes().put(LfHeaders.PRINCIPAL, principal);
			return "welcome " + name;
		}

		@OnMessage(prefix = "GET ")
		String get(String key, Principal client, @Header(LfHeaders.PRINCIPAL) Principal same) {
			return "%s of %s, %s".formatted(key, client.getName(), same.getName());
		}

		@OnError
		String failed(LoginRequiredException ex) {
			return "log in first";
		}

	}

	@LfHandler
	static class FirstMessage {

		@OnLogin
		String login(String name, Connection connection) {
			if (name.equals("wrong")) {
				return "no";
			}
			connection.attributes().put(LfHeaders.PRINCIPAL, (Principal) () -> name);
			return "yes";
		}

		@OnMessage
		String echo(String text) {
			return "echo " + text;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Users {

		@Bean
		UserDetailsService users() {
			return new InMemoryUserDetailsManager(ADA);
		}

	}

	@LfHandler
	static class Secured {

		private final LfAuthentication authentication;

		Secured(LfAuthentication authentication) {
			this.authentication = authentication;
		}

		@OnLogin(prefix = "LOGIN ")
		String login(String credentials, Connection connection) {
			String[] parts = credentials.split(" ", 2);
			Authentication user = this.authentication.login(connection,
					UsernamePasswordAuthenticationToken.unauthenticated(parts[0], parts[1]));
			return "welcome " + user.getName();
		}

		@OnMessage(prefix = "WHO")
		String who(Principal principal, Authentication authentication, @AuthenticationPrincipal UserDetails user,
				@AuthenticationPrincipal(expression = "username") String name) {
			Authentication bound = SecurityContextHolder.getContext().getAuthentication();
			assertThat(bound).isSameAs(authentication);
			return "%s %s %s %s %s".formatted(principal.getName(), authentication.getName(), user.getUsername(), name,
					user.getAuthorities());
		}

		@OnMessage(prefix = "LOGOUT")
		String logout(Connection connection) {
			this.authentication.logout(connection);
			return "bye";
		}

		@OnError
		String denied(AuthenticationException ex) {
			return "denied";
		}

	}

	@LfHandler
	static class Anonymous {

		@OnMessage
		String who(String text, @Nullable Principal principal) {
			Authentication bound = SecurityContextHolder.getContext().getAuthentication();
			return "%s %s".formatted((bound != null) ? bound.getName() : null,
					(principal != null) ? principal.getName() : "nobody");
		}

	}

}
