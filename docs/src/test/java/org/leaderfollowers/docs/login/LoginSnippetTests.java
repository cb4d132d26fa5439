package org.leaderfollowers.docs.login;

import java.io.BufferedReader;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.Principal;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnLogin;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.annotation.OnOpen;
import org.leaderfollowers.spring.handler.LfAuthentication;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.context.annotation.Import;
import org.springframework.security.authentication.UsernamePasswordAuthenticationToken;
import org.springframework.security.core.Authentication;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.core.context.SecurityContextHolder;
import org.springframework.security.core.userdetails.UserDetails;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The chapter about login and roles shows examples that do what it says.
 */
@Timeout(300)
@SpringBootTest(
		webEnvironment = WebEnvironment.NONE, properties = { "spring.config.location=classpath:login.yaml",
				"lf.servers.thermostat.port=0", "lf.servers.doors.port=0", "lf.servers.mirror.port=0" },
		classes = LoginSnippetTests.Application.class)
class LoginSnippetTests {

	private static final char[] PASSWORD = "changeit".toCharArray();

	@TempDir
	private static Path directory;

	@Autowired
	private LeaderFollowersServers servers;

	@DynamicPropertySource
	static void bundle(DynamicPropertyRegistry registry) throws Exception {
		KeyStore trusted = KeyStore.getInstance("PKCS12");
		trusted.load(null, null);
		for (String name : new String[] { "localhost", "till-17", "till-99" }) {
			createKey(name);
			trusted.setCertificateEntry(name, KeyStore.getInstance(file(name), PASSWORD).getCertificate(name));
		}
		try (OutputStream output = new FileOutputStream(file("trusted"))) {
			trusted.store(output, PASSWORD);
		}
		String bundle = "spring.ssl.bundle.jks.terminals.";
		registry.add(bundle + "keystore.location", () -> file("localhost").toURI());
		registry.add(bundle + "keystore.password", () -> new String(PASSWORD));
		registry.add(bundle + "truststore.location", () -> file("trusted").toURI());
		registry.add(bundle + "truststore.password", () -> new String(PASSWORD));
	}

	@Test
	void rolesDecide() throws Exception {
		try (Client client = connect(null)) {
			assertThat(client.ask("READ")).isEqualTo("ERROR log in first");
			assertThat(client.ask("LOGIN bob sesame")).isEqualTo("OK bob");
			assertThat(client.ask("READ")).isEqualTo("20.5");
			assertThat(client.ask("SET 21")).isEqualTo("ERROR not allowed");
			assertThat(client.ask("LOGIN ada secret")).isEqualTo("OK ada");
			assertThat(client.ask("SET 21")).isEqualTo("OK set by ada");
			assertThat(client.ask("READ")).isEqualTo("21.0");
			assertThat(client.ask("SET 20.5")).isEqualTo("OK set by ada");
			assertThat(client.ask("ROLES")).contains("ROLE_OPERATOR", "ROLE_READER");
			assertThat(client.ask("LOGOUT")).isEqualTo("OK");
			assertThat(client.ask("READ")).isEqualTo("ERROR log in first");
		}
	}

	@Test
	void wrongCredentialsAreAnsweredAndCloseTheConnection() throws Exception {
		for (String credentials : new String[] { "bob wrong", "eve sesame", "bob" }) {
			try (Client client = connect(null)) {
				assertThat(client.ask("LOGIN " + credentials)).isEqualTo("ERROR wrong credentials");
				assertThat(client.read()).isNull();
			}
		}
	}

	@Test
	void certificateLogsIn() throws Exception {
		try (Client client = connect("till-17")) {
			assertThat(client.ask("READ")).isEqualTo("20.5");
			assertThat(client.ask("SET 30")).isEqualTo("ERROR not allowed");
			assertThat(client.ask("LOGIN ada secret")).isEqualTo("OK ada");
			assertThat(client.ask("SET 20.5")).isEqualTo("OK set by ada");
		}
	}

	@Test
	void certificateOfAnUnknownUserTurnsTheClientAway() throws Exception {
		try (Client client = connect("till-99")) {
			assertThat(client.read()).isEqualTo("ERROR wrong credentials");
			assertThat(client.read()).isNull();
		}
	}

	@Test
	void loginWithoutSpringSecurity() throws Exception {
		try (Client client = new Client(new Socket(InetAddress.getLoopbackAddress(), port("doors")))) {
			assertThat(client.ask("gate")).isEqualTo("ERROR no badge");
			assertThat(client.ask("123456")).isEqualTo("OK");
			assertThat(client.ask("gate")).isEqualTo("gate opened for 123456");
		}
	}

	@Test
	void whoSeesWhat() throws Exception {
		try (Client client = new Client(new Socket(InetAddress.getLoopbackAddress(), port("mirror")))) {
			assertThat(client.read()).isEqualTo("anonymousUser, null, anonymousUser, null");
			assertThat(client.ask("LOGIN")).isEqualTo("anonymousUser before and anonymousUser after ada");
			assertThat(client.ask("NOW")).isEqualTo("ada, ada");
			assertThat(client.ask("LATER")).isEqualTo("nobody, ada");
			assertThat(client.ask("FAIL")).isEqualTo("nobody, ada");
			assertThat(client.ask("LOGIN")).isEqualTo("ada before and ada after ada");
		}
	}

	private int port(String server) {
		return this.servers.get(server).port();
	}

	private Client connect(@Nullable String certificate) throws Exception {
		TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
		trust.init(KeyStore.getInstance(file("trusted"), PASSWORD));
		KeyManager[] keys = null;
		if (certificate != null) {
			KeyManagerFactory factory = KeyManagerFactory.getInstance("PKIX");
			factory.init(KeyStore.getInstance(file(certificate), PASSWORD), PASSWORD);
			keys = factory.getKeyManagers();
		}
		SSLContext context = SSLContext.getInstance("TLS");
		context.init(keys, trust.getTrustManagers(), null);
		return new Client(context.getSocketFactory().createSocket("localhost", port("thermostat")));
	}

	private static File file(String name) {
		return directory.resolve(name + ".p12").toFile();
	}

	/** A key and its own certificate. */
	private static void createKey(String name) throws IOException, InterruptedException {
		Process keytool = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
				"-genkeypair", "-keystore", file(name).toString(), "-storepass", new String(PASSWORD), "-storetype",
				"PKCS12", "-alias", name, "-keyalg", "EC", "-groupname", "secp256r1", "-dname",
				"CN=" + name + ", O=Example", "-validity", "2")
			.redirectErrorStream(true)
			.start();
		assertThat(keytool.waitFor(60, TimeUnit.SECONDS)).isTrue();
		assertThat(keytool.exitValue()).isZero();
	}

	/**
	 * A client that sends and reads lines.
	 *
	 * @param socket its socket
	 * @param reader what the server has sent
	 */
	private record Client(Socket socket, BufferedReader reader) implements AutoCloseable {

		Client(Socket socket) throws IOException {
			this(socket, new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8)));
			socket.setSoTimeout(60_000);
		}

		@Nullable String ask(String line) throws IOException {
			this.socket.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
			return read();
		}

		@Nullable String read() throws IOException {
			return this.reader.readLine();
		}

		@Override
		public void close() throws IOException {
			this.socket.close();
		}

	}

	@SpringBootApplication
	@Import(Mirror.class)
	static class Application {

	}

	/**
	 * Shows who its methods take the client for.
	 */
	@LfHandler(server = "mirror")
	static class Mirror {

		private final LfAuthentication authentication;

		Mirror(LfAuthentication authentication) {
			this.authentication = authentication;
		}

		private static String bound() {
			Authentication bound = SecurityContextHolder.getContext().getAuthentication();
			return (bound != null) ? bound.getName() : "nobody";
		}

		@OnOpen
		String opened(@Nullable Principal client, @AuthenticationPrincipal Object principal,
				@AuthenticationPrincipal UserDetails user) {
			return "%s, %s, %s, %s".formatted(bound(), client, principal, user);
		}

		@OnLogin(prefix = "LOGIN")
		String login(Connection connection) {
			String before = bound();
			Authentication user = this.authentication.login(connection,
					UsernamePasswordAuthenticationToken.unauthenticated("ada", "secret"));
			return "%s before and %s after %s".formatted(before, bound(), user.getName());
		}

		@OnMessage(prefix = "NOW")
		String now(Authentication client) {
			return bound() + ", " + client.getName();
		}

		@OnMessage(prefix = "LATER")
		CompletableFuture<String> later(Authentication client) {
			return CompletableFuture.supplyAsync(() -> bound() + ", " + client.getName());
		}

		@OnMessage(prefix = "FAIL")
		void fail() {
			throw new UnsupportedOperationException();
		}

		@OnError
		String failed(UnsupportedOperationException ex, Principal client) {
			return bound() + ", " + client.getName();
		}

	}

}
