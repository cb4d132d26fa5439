package org.leaderfollowers.spring.actuate;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;

import org.leaderfollowers.Connection;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.Server;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.event.ServerEvent;
import org.leaderfollowers.spring.event.ServerPausedEvent;
import org.leaderfollowers.spring.event.ServerResumedEvent;
import org.leaderfollowers.spring.event.ServerStoppedEvent;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.actuate.audit.AuditEvent;
import org.springframework.boot.actuate.audit.listener.AuditApplicationEvent;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;

/**
 * An application whose endpoints may be written to, seen over HTTP.
 */
final class OperatedApplication implements AutoCloseable {

	private final HttpClient http = HttpClient.newHttpClient();

	private final ConfigurableApplicationContext context;

	private OperatedApplication(ConfigurableApplicationContext context) {
		this.context = context;
	}

	/**
	 * Starts the application.
	 * @param arguments properties in the style of a command line
	 */
	static OperatedApplication run(String... arguments) {
		Map<String, Object> defaults = new HashMap<>();
		defaults.put("server.port", 0);
		defaults.put("management.endpoints.web.exposure.include", "leaderfollowers,lfhandoffs,lfconnections");
		defaults.put("management.endpoint.leaderfollowers.access", "unrestricted");
		defaults.put("management.endpoint.lfhandoffs.access", "unrestricted");
		defaults.put("lf.server.port", 0);
		defaults.put("lf.server.address", "127.0.0.1");
		defaults.put("lf.pools.spare.handle-sets", 1);
		return new OperatedApplication(
				new SpringApplicationBuilder(Application.class).properties(defaults).run(arguments));
	}

	ConfigurableApplicationContext context() {
		return this.context;
	}

	Server server() {
		return this.context.getBean(LeaderFollowersServers.class).get("default");
	}

	int port() {
		return server().port();
	}

	LeaderFollowersPool pool() {
		return this.context.getBean(LeaderFollowersPools.class).get("default");
	}

	Gate gate() {
		return this.context.getBean(Gate.class);
	}

	Events events() {
		return this.context.getBean(Events.class);
	}

	HttpResponse<String> get(String path) throws Exception {
		return send(path, HttpRequest.newBuilder());
	}

	HttpResponse<String> post(String path, String body) throws Exception {
		return send(path,
				HttpRequest.newBuilder()
					.header("Content-Type", "application/json")
					.POST(HttpRequest.BodyPublishers.ofString(body)));
	}

	HttpResponse<String> delete(String path) throws Exception {
		return send(path, HttpRequest.newBuilder().DELETE());
	}

	HttpResponse<String> send(String path, HttpRequest.Builder request) throws IOException, InterruptedException {
		String port = this.context.getEnvironment().getRequiredProperty("local.server.port");
		return this.http.send(
				request.uri(URI.create("http://localhost:" + port + path)).timeout(Duration.ofSeconds(60)).build(),
				HttpResponse.BodyHandlers.ofString());
	}

	@Override
	public void close() {
		gateOfLast().open();
		this.context.close();
	}

	private Gate gateOfLast() {
		return this.context.isActive() ? gate() : new Gate();
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Application {

		@Bean
		@LfHandler
		Gate gate() {
			return new Gate();
		}

		@Bean
		Events events() {
			return new Events();
		}

	}

	static class Events {

		private final List<ServerEvent> servers = new CopyOnWriteArrayList<>();

		private final List<AuditEvent> audit = new CopyOnWriteArrayList<>();

		@EventListener({ ServerPausedEvent.class, ServerResumedEvent.class, ServerStoppedEvent.class })
		void on(ServerEvent event) {
			this.servers.add(event);
		}

		@EventListener
		void on(AuditApplicationEvent event) {
			this.audit.add(event.getAuditEvent());
		}

		List<ServerEvent> servers() {
			return this.servers;
		}

		List<AuditEvent> audit() {
			return this.audit;
		}

	}

	/**
	 * Echoes what does not begin with {@code wait} at once, and the rest when the gate is
	 * open.
	 */
	static class Gate implements MessageHandler {

		private final CountDownLatch received = new CountDownLatch(1);

		private final CountDownLatch open = new CountDownLatch(1);

		@Override
		public void onMessage(Connection connection, ByteBuffer message) throws Exception {
			this.received.countDown();
			if (message.hasRemaining() && message.get(message.position()) == 'w') {
				this.open.await();
			}
			connection.send(message);
		}

		void awaitMessage() throws InterruptedException {
			this.received.await();
		}

		void open() {
			this.open.countDown();
		}

	}

}
