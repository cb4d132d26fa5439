package org.leaderfollowers.sample.web;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.ThreadRole;
import org.leaderfollowers.spring.test.client.LfTestClient;
import org.leaderfollowers.spring.test.client.TcpTestClient;

import org.springframework.util.unit.DataSize;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

/** Tests of the web server over sockets, with its own files. */
@Timeout(120)
class WebServerTests {

	private static final Duration TIMEOUT = Duration.ofSeconds(30);

	private static final String INDEX = "<!DOCTYPE html><title>Home</title>";

	private static final int LARGE = 5_000_000;

	@TempDir
	private Path directory;

	private Path root;

	private byte[] large = {};

	private LeaderFollowersPool pool;

	private TcpServer server;

	@BeforeEach
	void startServer() throws IOException {
		this.root = Files.createDirectories(this.directory.resolve("root"));
		Files.writeString(this.directory.resolve("secret.txt"), "secret");
		Files.writeString(this.root.resolve("index.html"), INDEX);
		Files.writeString(this.root.resolve("twin.html"), INDEX.toUpperCase(Locale.ROOT));
		Files.writeString(this.root.resolve("noindex.html"), INDEX);
		Files.writeString(Files.createDirectories(this.root.resolve("a")).resolve("with space.txt"), "spaces");
		Files.writeString(this.root.resolve("a/index.html"), "in a");
		this.large = new byte[LARGE];
		new Random(7).nextBytes(this.large);
		Files.write(this.root.resolve("large.bin"), this.large);
		this.pool = LeaderFollowersPool.builder().name("web").threads(2, 8).build();
		StaticFiles files = new StaticFiles(new WebProperties(this.root.toUri().toString(), DataSize.ofKilobytes(64)));
		this.server = TcpServer.builder(this.pool)
			.port(0)
			.framing(new HttpFraming())
			.maxMessageSize(8192)
			.handler(new WebHandler(files))
			.build();
		this.server.start();
	}

	@AfterEach
	void stopServer() {
		this.server.close();
		this.pool.close();
	}

	@Test
	void servesFile() {
		try (Http http = connect()) {
			http.send("GET / HTTP/1.1~Host: a~~");
			Response response = http.receive();
			assertThat(response.status()).isEqualTo("HTTP/1.1 200 OK");
			assertThat(response.text()).isEqualTo(INDEX);
			assertThat(response.headers()).containsEntry("content-type", "text/html; charset=utf-8")
				.containsEntry("content-length", String.valueOf(INDEX.length()))
				.containsEntry("x-content-type-options", "nosniff")
				.containsKeys("date", "etag", "last-modified")
				.doesNotContainKey("connection");
		}
	}

	@ParameterizedTest
	@CsvSource({ "/index.html, text/html; charset=utf-8", "/a/, text/html; charset=utf-8",
			"/a/with%20space.txt, text/plain; charset=utf-8", "/large.bin, application/octet-stream",
			"/index.html?query, text/html; charset=utf-8", "http://any/index.html, text/html; charset=utf-8" })
	void headSaysWhatGetWould(String target, String type) {
		try (Http http = connect()) {
			http.send("HEAD " + target + " HTTP/1.1~Host: a~~GET " + target + " HTTP/1.1~Host: a~~");
			Response head = http.receiveHead();
			Response get = http.receive();
			assertThat(head.status()).isEqualTo("HTTP/1.1 200 OK");
			assertThat(head.headers()).containsEntry("content-type", type);
			assertThat(get.headers()).containsAllEntriesOf(withoutDate(head));
			assertThat(get.content()).hasSize(Integer.parseInt(head.headers().get("content-length")));
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "/none", "/no", "/a", "/a//", "//", "/../secret.txt", "/a/../../secret.txt",
			"/%2e%2e/secret.txt", "/..%2fsecret.txt", "/%2e%2e%2fsecret.txt", "/a/%2e%2e/%2e%2e/secret.txt",
			"/..%5csecret.txt", "/%00", "/index.html%00", "/a/../index.html", "/%c0%ae%c0%ae/secret.txt",
			"/large.bin/" })
	void findsNothingElse(String path) {
		try (Http http = connect()) {
			http.send("GET " + path + " HTTP/1.1~Host: a~~GET / HTTP/1.1~Host: a~~");
			assertThat(http.receive().status()).isEqualTo("HTTP/1.1 404 Not Found");
			assertThat(http.receive().text()).isEqualTo(INDEX);
		}
	}

	@Test
	void headOfNoFileHasNoBody() {
		try (Http http = connect()) {
			http.send("HEAD /none HTTP/1.1~Host: a~~GET / HTTP/1.1~Host: a~~");
			Response head = http.receiveHead();
			assertThat(head.status()).isEqualTo("HTTP/1.1 404 Not Found");
			assertThat(http.receive().status()).isEqualTo("HTTP/1.1 200 OK");
		}
	}

	@Test
	void filesOfEqualLengthHaveDifferentTags() {
		try (Http http = connect()) {
			http.send("HEAD / HTTP/1.1~Host: a~~HEAD /twin.html HTTP/1.1~Host: a~~");
			Map<String, String> one = http.receiveHead().headers();
			Map<String, String> other = http.receiveHead().headers();
			assertThat(other).containsEntry("content-length", one.get("content-length"));
			assertThat(other.get("etag")).isNotEqualTo(one.get("etag"));
		}
	}

	/** In this locale, {@code %d} writes other digits. */
	@Test
	void lengthsDoNotDependOnTheLocale() throws IOException {
		Locale locale = Locale.getDefault();
		Locale.setDefault(Locale.forLanguageTag("ar-EG"));
		try {
			assertThat(new StaticFiles(new WebProperties(this.root.toUri().toString(), DataSize.ofKilobytes(64)))
				.find("/index.html")
				.headers()).contains("Content-Length: " + INDEX.length() + "\r\n");
			try (Http http = connect()) {
				http.send("GET /none HTTP/1.1~Host: a~~");
				assertThat(http.receive().headers()).containsEntry("content-length", "22");
			}
		}
		finally {
			Locale.setDefault(locale);
		}
	}

	@Test
	void rootNeedsNoSlashAtItsEnd() throws IOException {
		String uri = this.root.toUri().toString().replaceAll("/$", "");
		assertThat(new StaticFiles(new WebProperties(uri, DataSize.ofKilobytes(64))).find("/a/index.html")).isNotNull();
	}

	@ParameterizedTest
	@ValueSource(strings = { "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get", "PROPFIND" })
	void refusesOtherMethodsAndSkipsTheirBodies(String method) {
		try (Http http = connect()) {
			http.send(
					method + " / HTTP/1.1~Host: a~Content-Length: 22~~GET /none HTTP/1.0~~~~GET / HTTP/1.1~Host: a~~");
			Response response = http.receive();
			assertThat(response.status()).isEqualTo("HTTP/1.1 405 Method Not Allowed");
			assertThat(response.headers()).containsEntry("allow", "GET, HEAD");
			assertThat(http.receive().text()).isEqualTo(INDEX);
		}
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			hello~~                                                   | 400 Bad Request
			GET / HTTP/1.1~~                                          | 400 Bad Request
			GET /%zz HTTP/1.1~Host: a~~                               | 400 Bad Request
			GET / HTTP/2.0~Host: a~~                                  | 505 HTTP Version Not Supported
			POST / HTTP/1.1~Host: a~Transfer-Encoding: chunked~~0~~   | 411 Length Required
			POST / HTTP/1.1~Host: a~Content-Length: 9000~~            | 413 Content Too Large
			""")
	void answersAndClosesWhenRequestIsInvalid(String request, String status) {
		try (Http http = connect()) {
			http.send("GET / HTTP/1.1~Host: a~~" + request);
			assertThat(http.receive().text()).isEqualTo(INDEX);
			assertLast(http, "HTTP/1.1 " + status);
		}
	}

	@Test
	void answersAndClosesWhenHeadIsTooLarge() {
		try (Http http = connect()) {
			http.send("GET / HTTP/1.1~Host: a~X: " + "x".repeat(9000));
			assertLast(http, "HTTP/1.1 431 Request Header Fields Too Large");
		}
	}

	@Test
	void answersPipelinedRequestsInOrder() {
		try (Http http = connect()) {
			String request = "GET / HTTP/1.1~Host: a~~GET /large.bin HTTP/1.1~Host: a~~GET /a/ HTTP/1.1~Host: a~~";
			http.send(request.repeat(5));
			for (int i = 0; i < 5; i++) {
				assertThat(http.receive().text()).isEqualTo(INDEX);
				assertThat(http.receive().content()).isEqualTo(this.large);
				assertThat(http.receive().text()).isEqualTo("in a");
			}
		}
	}

	@ParameterizedTest
	@CsvSource({ "GET / HTTP/1.1~Host: a~Connection: close~~", "GET / HTTP/1.0~~",
			"GET /large.bin HTTP/1.1~Host: a~Connection: close~~", "GET /large.bin HTTP/1.0~~", "GET /none HTTP/1.0~~",
			"DELETE / HTTP/1.0~~" })
	void closesWhenClientWantsThat(String request) {
		try (Http http = connect()) {
			http.send(request + "GET / HTTP/1.1~Host: a~~");
			assertThat(http.receive().headers()).containsEntry("connection", "close");
			assertThat(http.client).isClosedByServer();
		}
	}

	@Test
	void keepsConnectionOfOldClientThatWantsThat() {
		try (Http http = connect()) {
			http.send("GET / HTTP/1.0~Connection: keep-alive~~GET / HTTP/1.0~~");
			assertThat(http.receive().headers()).containsEntry("connection", "keep-alive");
			assertThat(http.receive().text()).isEqualTo(INDEX);
		}
	}

	@Test
	void sendsNothingThatClientHas() {
		try (Http http = connect()) {
			http.send("HEAD / HTTP/1.1~Host: a~~");
			Map<String, String> headers = http.receiveHead().headers();
			String etag = headers.get("etag");
			String modified = headers.get("last-modified");
			for (String condition : new String[] { "If-None-Match: " + etag, "If-None-Match: \"x\", W/" + etag,
					"If-None-Match: *", "If-Modified-Since: " + modified,
					"If-Modified-Since: Fri, 31 Dec 2100 23:59:59 GMT" }) {
				http.send("GET / HTTP/1.1~Host: a~" + condition + "~~");
				Response response = http.receiveHead();
				assertThat(response.status()).isEqualTo("HTTP/1.1 304 Not Modified");
				assertThat(response.headers()).containsEntry("etag", etag).doesNotContainKey("content-length");
			}
			for (String condition : new String[] { "If-None-Match: \"x\"", "If-Modified-Since: yesterday",
					"If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT",
					"If-None-Match: \"x\"~If-Modified-Since: " + modified }) {
				http.send("GET / HTTP/1.1~Host: a~" + condition + "~~");
				assertThat(http.receive().text()).isEqualTo(INDEX);
			}
		}
	}

	@Test
	void streamsToSlowClientWithoutThread() {
		try (Http slow = new Http(
				LfTestClient.tcp(this.server.port()).timeout(TIMEOUT).receiveBufferSize(4096).connect());
				Http other = connect()) {
			slow.send("GET /large.bin HTTP/1.1~Host: a~~GET / HTTP/1.1~Host: a~~");
			Response head = slow.receiveHead();
			Awaitility.await()
				.atMost(TIMEOUT)
				.until(() -> this.pool.snapshot()
					.threads()
					.stream()
					.noneMatch((thread) -> thread.role() == ThreadRole.PROCESSING));
			other.send("GET / HTTP/1.1~Host: a~~");
			assertThat(other.receive().text()).isEqualTo(INDEX);
			assertThat(slow.content(head)).isEqualTo(this.large);
			assertThat(slow.receive().text()).isEqualTo(INDEX);
		}
	}

	@Test
	void closesFileWhenClientLeavesInTheMiddle() throws IOException {
		for (int i = 0; i < 3; i++) {
			try (Http http = connect()) {
				http.send("GET /large.bin HTTP/1.1~Host: a~~");
				http.receiveHead();
				http.client.reset();
			}
		}
		Path files = Path.of("/proc/self/fd");
		if (Files.isDirectory(files)) {
			Awaitility.await().atMost(TIMEOUT).untilAsserted(() -> assertThat(openFiles(files)).isZero());
		}
	}

	private long openFiles(Path descriptors) throws IOException {
		try (var list = Files.list(descriptors)) {
			return list.filter(this::pointsToLarge).count();
		}
	}

	private boolean pointsToLarge(Path link) {
		try {
			return Files.readSymbolicLink(link).equals(this.root.resolve("large.bin"));
		}
		catch (IOException ex) {
			return false;
		}
	}

	@Test
	void breaksOffWhenFileHasBecomeShorter() throws IOException {
		Files.write(this.root.resolve("large.bin"), new byte[1000]);
		try (Http http = connect()) {
			http.send("GET /large.bin HTTP/1.1~Host: a~~GET / HTTP/1.1~Host: a~~");
			assertThat(http.receiveHead().status()).isEqualTo("HTTP/1.1 200 OK");
			assertThat(http.client).isClosedByServer();
		}
	}

	@Test
	void saysThatFileCannotBeRead() throws IOException {
		Files.delete(this.root.resolve("large.bin"));
		try (Http http = connect()) {
			http.send("GET /large.bin HTTP/1.1~Host: a~~");
			assertLast(http, "HTTP/1.1 500 Internal Server Error");
		}
	}

	@Test
	void tellsClientThatServerDrains() {
		try (Http http = new Http(
				LfTestClient.tcp(this.server.port()).timeout(TIMEOUT).receiveBufferSize(4096).connect())) {
			// The file is still being sent when the drain begins.
			http.send("GET /large.bin HTTP/1.1~Host: a~~" + "GET / HTTP/1.1~Host: a~~".repeat(3));
			Response head = http.receiveHead();
			assertThat(head.headers()).doesNotContainKey("connection");
			CompletableFuture<Boolean> closed = CompletableFuture.supplyAsync(() -> this.server.close(TIMEOUT),
					(task) -> new Thread(task).start());
			Awaitility.await().atMost(TIMEOUT).until(() -> !this.server.snapshot().state().name().equals("RUNNING"));
			assertThat(http.content(head)).isEqualTo(this.large);
			assertLast(http, "HTTP/1.1 200 OK");
			assertThat(closed.join()).isTrue();
		}
	}

	@Test
	void saysThatThereIsNoRoot() {
		assertThatIOException()
			.isThrownBy(() -> new StaticFiles(
					new WebProperties(this.directory.resolve("none").toUri().toString(), DataSize.ofKilobytes(64))))
			.withMessageContaining("sample.web.root");
	}

	/** A search that fails finds no files either. */
	@Test
	void saysThatThereAreNoFiles() throws IOException {
		Path empty = Files.createDirectories(this.directory.resolve("empty"));
		assertThatIOException()
			.isThrownBy(() -> new StaticFiles(new WebProperties(empty.toUri().toString(), DataSize.ofKilobytes(64))))
			.withMessageContaining("There are no files below");
	}

	private void assertLast(Http http, String status) {
		Response response = http.receive();
		assertThat(response.status()).isEqualTo(status);
		assertThat(response.headers()).containsEntry("connection", "close");
		assertThat(http.client).isClosedByServer();
	}

	private static Map<String, String> withoutDate(Response response) {
		Map<String, String> headers = new HashMap<>(response.headers());
		headers.remove("date");
		return headers;
	}

	private Http connect() {
		return new Http(LfTestClient.tcp(this.server.port()).timeout(TIMEOUT).connect());
	}

	private record Response(String status, Map<String, String> headers, byte[] content) {

		String text() {
			return new String(content(), StandardCharsets.UTF_8);
		}

	}

	/** A client whose requests are written with ~ for the end of a line. */
	private record Http(TcpTestClient client) implements AutoCloseable {

		void send(String requests) {
			this.client.sendRaw(requests.replace("~", "\r\n"));
		}

		Response receiveHead() {
			StringBuilder head = new StringBuilder();
			while (head.indexOf("\r\n\r\n") < 0) {
				head.append((char) this.client.receiveRaw(1)[0]);
			}
			String[] lines = head.toString().split("\r\n");
			Map<String, String> headers = new HashMap<>();
			for (int i = 1; i < lines.length; i++) {
				String[] field = lines[i].split(": ", 2);
				headers.put(field[0].toLowerCase(Locale.ROOT), field[1]);
			}
			return new Response(lines[0], headers, new byte[0]);
		}

		Response receive() {
			Response head = receiveHead();
			return new Response(head.status(), head.headers(), content(head));
		}

		byte[] content(Response head) {
			return this.client.receiveRaw(Integer.parseInt(head.headers().get("content-length")));
		}

		@Override
		public void close() {
			this.client.close();
		}

	}

}
