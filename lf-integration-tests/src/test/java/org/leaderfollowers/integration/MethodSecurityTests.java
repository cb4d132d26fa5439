package org.leaderfollowers.integration;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.annotation.LfAdvice;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnLogin;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.handler.LfAuthentication;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.security.access.AccessDeniedException;
import org.springframework.security.access.prepost.PreAuthorize;
import org.springframework.security.authentication.UsernamePasswordAuthenticationToken;
import org.springframework.security.config.annotation.method.configuration.EnableMethodSecurity;
import org.springframework.security.core.AuthenticationException;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.core.userdetails.UserDetailsService;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Method security decides about handlers and services by the client of the connection.
 */
class MethodSecurityTests {

	@Test
	void rolesDecideWhichMethodsAClientMayCall() throws Exception {
		try (ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class)
			.web(WebApplicationType.NONE)
			.run("--lf.server.port=0")) {
			int port = context.getBean(LeaderFollowersServers.class).get("default").port();
			try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
				socket.setSoTimeout(60_000);
				BufferedReader reader = new BufferedReader(
						new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
				assertThat(ask(socket, reader, "LOGIN bob wrong")).isEqualTo("ERROR wrong credentials");
				assertThat(ask(socket, reader, "LOGIN bob secret")).isEqualTo("OK bob");
				assertThat(ask(socket, reader, "READ")).isEqualTo("20.5");
				assertThat(ask(socket, reader, "SET 21")).isEqualTo("ERROR not allowed");
				assertThat(ask(socket, reader, "LOGIN ada secret")).isEqualTo("OK ada");
				assertThat(ask(socket, reader, "SET 21")).isEqualTo("set 21");
				assertThat(ask(socket, reader, "RESET")).isEqualTo("reset");
				assertThat(ask(socket, reader, "LOGIN bob secret")).isEqualTo("OK bob");
				assertThat(ask(socket, reader, "RESET")).isEqualTo("ERROR not allowed");
			}
		}
	}

	private static String ask(Socket socket, BufferedReader reader, String line) throws Exception {
		socket.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
		return reader.readLine();
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	@EnableMethodSecurity
	@Import({ Thermostat.class, Maintenance.class, Refusals.class })
	static class Application {

		@Bean
		UserDetailsService users() {
			return new InMemoryUserDetailsManager(
					User.withUsername("ada").password("{noop}secret").roles("OPERATOR").build(),
					User.withUsername("bob").password("{noop}secret").roles("READER").build());
		}

	}

	@LfHandler
	static class Thermostat {

		private final LfAuthentication authentication;

		private final Maintenance maintenance;

		Thermostat(LfAuthentication authentication, Maintenance maintenance) {
			this.authentication = authentication;
			this.maintenance = maintenance;
		}

		@OnLogin(prefix = "LOGIN ")
		public String login(String text, Connection connection) {
			String[] parts = text.split(" ", 2);
			return "OK " + this.authentication
				.login(connection, UsernamePasswordAuthenticationToken.unauthenticated(parts[0], parts[1]))
				.getName();
		}

		@OnMessage(prefix = "READ")
		public String read() {
			return "20.5";
		}

		@OnMessage(prefix = "SET ")
		@PreAuthorize("hasRole('OPERATOR')")
		public String set(String value) {
			return "set " + value;
		}

		@OnMessage(prefix = "RESET")
		public String reset() {
			return this.maintenance.reset();
		}

	}

	static class Maintenance {

		@PreAuthorize("hasRole('OPERATOR')")
		public String reset() {
			return "reset";
		}

	}

	@LfAdvice
	static class Refusals {

		@OnError
		String denied(AccessDeniedException ex) {
			return "ERROR not allowed";
		}

		@OnError
		String unknown(AuthenticationException ex) {
			return "ERROR wrong credentials";
		}

	}

}
