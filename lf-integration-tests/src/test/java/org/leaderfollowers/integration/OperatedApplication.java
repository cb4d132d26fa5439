package org.leaderfollowers.integration;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.Server;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.actuate.audit.AuditEvent;
import org.springframework.boot.actuate.audit.listener.AuditApplicationEvent;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;

/**
 * An application with one of the web stacks, seen over HTTP.
 */
final class OperatedApplication implements AutoCloseable {

	private static final String SECURITY = "org.springframework.boot.security.autoconfigure.";

	private static final String WITHOUT_SECURITY = String.join(",", SECURITY + "SecurityAutoConfiguration",
			SECURITY + "UserDetailsServiceAutoConfiguration", SECURITY + "ReactiveUserDetailsServiceAutoConfiguration",
			SECURITY + "web.servlet.ServletWebSecurityAutoConfiguration",
			SECURITY + "web.servlet.SecurityFilterAutoConfiguration",
			SECURITY + "web.reactive.ReactiveWebSecurityAutoConfiguration",
			SECURITY + "actuate.web.servlet.ManagementWebSecurityAutoConfiguration",
			SECURITY + "actuate.web.reactive.ReactiveManagementWebSecurityAutoConfiguration");

	private final ConfigurableApplicationContext context;

	private OperatedApplication(ConfigurableApplicationContext context) {
		this.context = context;
	}

	static OperatedApplication withoutSecurity(WebApplicationType stack, String... properties) {
		List<String> all = new ArrayList<>(List.of(properties));
		all.add("spring.autoconfigure.exclude=" + WITHOUT_SECURITY);
		return run(stack, List.of(), all.toArray(String[]::new));
	}

	static OperatedApplication run(WebApplicationType stack, List<Class<?>> configurations, String... properties) {
		Map<String, Object> defaults = new HashMap<>();
		defaults.put("server.port", 0);
		defaults.put("lf.server.port", 0);
		defaults.put("lf.server.address", "127.0.0.1");
		defaults.put("spring.jmx.enabled", false);
		List<Class<?>> sources = new ArrayList<>(configurations);
		sources.add(Application.class);
		return new OperatedApplication(new SpringApplicationBuilder(sources.toArray(Class<?>[]::new)).web(stack)
			.properties(defaults)
			.run(Arrays.stream(properties).map((property) -> "--" + property).toArray(String[]::new)));
	}

	Server server() {
		return this.context.getBean(LeaderFollowersServers.class).get("default");
	}

	List<AuditEvent> audit() {
		return this.context.getBean(Audit.class).events;
	}

	int managementPort() {
		return this.context.getEnvironment().getRequiredProperty("local.management.port", Integer.class);
	}

	HttpResponse<String> get(String path) throws Exception {
		return send(path, HttpRequest.newBuilder());
	}

	HttpResponse<String> post(String path, String body) throws Exception {
		return send(path, posting(body));
	}

	HttpResponse<String> delete(String path) throws Exception {
		return send(path, HttpRequest.newBuilder().DELETE());
	}

	static HttpRequest.Builder posting(String body) {
		return HttpRequest.newBuilder()
			.header("Content-Type", "application/json")
			.POST(HttpRequest.BodyPublishers.ofString(body));
	}

	HttpResponse<String> sendAs(String user, String path, HttpRequest.Builder request) throws Exception {
		String credentials = Base64.getEncoder().encodeToString((user + ":secret").getBytes(StandardCharsets.UTF_8));
		return send(path, request.header("Authorization", "Basic " + credentials));
	}

	HttpResponse<String> send(String path, HttpRequest.Builder request) throws Exception {
		return send(this.context.getEnvironment().getRequiredProperty("local.server.port", Integer.class), path,
				request);
	}

	HttpResponse<String> send(int port, String path, HttpRequest.Builder request) throws Exception {
		// A client, and so a connection, for each request: WebFlux refuses a POST before
		// it
		// has read the body, and what follows on the same connection may not be answered.
		HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
		return http.send(
				request.uri(URI.create("http://localhost:" + port + path)).timeout(Duration.ofSeconds(60)).build(),
				HttpResponse.BodyHandlers.ofString());
	}

	@Override
	public void close() {
		this.context.close();
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Application {

		@Bean
		@LfHandler
		MessageHandler echo() {
			return (connection, message) -> connection.send(message);
		}

		@Bean
		Audit audit() {
			return new Audit();
		}

	}

	static class Audit {

		private final List<AuditEvent> events = new CopyOnWriteArrayList<>();

		@EventListener
		void on(AuditApplicationEvent event) {
			if (event.getAuditEvent().getType().startsWith("LF_")) {
				this.events.add(event.getAuditEvent());
			}
		}

	}

}
