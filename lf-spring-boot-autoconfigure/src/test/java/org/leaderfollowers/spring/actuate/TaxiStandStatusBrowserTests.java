package org.leaderfollowers.spring.actuate;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import org.awaitility.Awaitility;
import org.awaitility.core.ThrowingRunnable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import org.springframework.core.io.ClassPathResource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests in a real browser for the rows of the {@link TaxiStand} that operators read
 * first. The looks at the pool are made up, and each is one second after the one before
 * it, however long the page takes.
 */
@Timeout(180)
class TaxiStandStatusBrowserTests {

	private static final Instant START = Instant.parse("2026-01-01T12:00:00Z");

	/** The greatest number of busy threads that the page has shown. */
	private static final String WATCH_BUSY = """
			window.most = 0;
			new MutationObserver(() => {
				const text = document.querySelectorAll("#tiles dt + dd")[1]?.textContent;
				window.most = Math.max(window.most, parseFloat(text) || 0);
			}).observe(document.body, { childList: true, subtree: true, characterData: true });
			""";

	private static Browser browser;

	private final AtomicInteger looks = new AtomicInteger();

	private ExecutorService threads;

	private HttpServer http;

	private volatile Look look = new Look();

	@BeforeAll
	static void startBrowser() {
		browser = Browser.start();
	}

	@AfterAll
	static void stopBrowser() {
		if (browser != null) {
			browser.close();
		}
	}

	@BeforeEach
	void start() throws IOException {
		browser.errors();
		browser.size(1280, 900);
		this.threads = Executors.newCachedThreadPool();
		this.http = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
		this.http.setExecutor(this.threads);
		this.http.createContext("/actuator", this::answer);
		this.http.start();
	}

	@AfterEach
	void stop() {
		browser.open("about:blank");
		this.http.stop(0);
		this.threads.shutdown();
	}

	@Test
	void aPoolThatWorksIsNotIdleAlthoughNoLookFindsAThreadBusy() {
		// 900 messages a second, of 50 µs each
		this.look = new Look().handles(900, 0.045);
		open();
		await(() -> {
			assertThat(fact("State"))
				.isEqualTo("Working: 900 messages/s, 900 events/s; 0.05 of 8 threads busy on average.");
			assertThat(browser.texts("#tiles dd").get(2)).isEqualTo("0.05 of 8");
			assertThat(browser.text("#road-name")).isEqualTo("No cab on the road at this moment");
			assertThat(browser.text("#road-how")).startsWith("0.05 on average in the last second");
			assertThat(browser.text(".group")).contains("no cab now, 0.05 on average");
			assertThat(browser.texts("#handler-rows td").get(6)).isEqualTo("0.05");
		});
		// One more look may be under way.
		this.look = new Look().handled(900 * (this.looks.get() + 1), 0.045 * (this.looks.get() + 1));
		await(() -> {
			assertThat(fact("State")).isEqualTo("Idle: no event in the last second.");
			assertThat(browser.texts("#tiles dd").get(2)).isEqualTo("0 of 8");
			assertThat(browser.text("#road-name")).isEqualTo("The road is empty");
		});
		assertNoErrors();
	}

	@Test
	void handlersThatTakeNextToNothingAreNotNothing() {
		this.look = new Look().handles(3, 0.000_003);
		open();
		await(() -> assertThat(fact("State")).contains("Working: 3 messages/s").contains("< 0.01 of 8 threads"));
		assertNoErrors();
	}

	@Test
	void aLongRideCountsWhileItLastsAndNotAgainWhenItEnds() {
		this.look = new Look();
		open();
		await(() -> assertThat(fact("State")).startsWith("Idle"));
		browser.run(WATCH_BUSY);
		int from = this.looks.get() + 1;
		this.look = new Look().rides(from);
		await(() -> {
			assertThat(browser.texts("#tiles dd").get(2)).isEqualTo("1 of 8");
			assertThat(this.looks.get()).isGreaterThan(from + 3);
		});
		// The server counts the message, with all the time that it took.
		int end = this.looks.get();
		this.look = new Look().handled(1, end - from);
		await(() -> assertThat(browser.texts("#tiles dd").get(2)).isEqualTo("0 of 8"));
		assertThat(browser.run("return window.most")).isEqualTo(1L);
		assertNoErrors();
	}

	@Test
	void overloadFailuresSlowHandlersAndBlockadesAreNamed() {
		open();
		await(() -> {
			assertThat(fact("Overload")).isEqualTo("0 handles wait for a thread, buffers 0% full.");
			assertThat(fact("Failures")).isEqualTo("None in the last 10 s.");
			assertThat(fact("Slow handlers")).isEqualTo("No message was handled in the last 10 s.");
			assertThat(fact("Blocked")).isEqualTo("No handler is known to wait.");
			assertThat(browser.count(".fact[data-level=good]")).isEqualTo(5);
		});
		this.look = new Look().ridesFor(4, "the reply of 203.0.113.7:99 on Connection 1 of client 'ledger'")
			.open(95)
			.buffered(960)
			.fails(3);
		await(() -> {
			assertThat(fact("Overload"))
				.isEqualTo("Server orders has 95 of 100 connections. 0 handles wait for a thread, buffers 96% full.");
			assertThat(fact("Failures"))
				.matches("Now: handler error [\\d,]+\\. Since the start: handler error [\\d,]+\\.");
			assertThat(fact("State")).isEqualTo("Busy: no event in the last second; 1 of 8 threads busy on average.");
			assertThat(fact("Slow handlers")).isEqualTo("gate has run for 4.0 s (1 thread for 1 s and more).");
			assertThat(fact("Blocked")).isEqualTo(
					"1 thread of gate waits for the reply on a connection of client 'ledger', the longest for 4.0 s.");
			assertThat(browser.count(".fact[data-level=warn]")).isEqualTo(4);
		});
		int failed = 3 * (this.looks.get() + 1);
		this.look = new Look().ridesFor(4, "the reply on Connection 1 of server 'orders'").failed(failed);
		await(() -> assertThat(fact("Blocked")).isEqualTo(
				"1 thread of gate waits for the reply on a connection of server 'orders', the longest for 4.0 s."));
		this.look = new Look().ridesFor(12, "").failed(failed);
		await(() -> {
			assertThat(fact("Blocked")).isEqualTo(
					"1 thread of gate runs or waits outside of the engine, the longest for 12 s: take a thread dump.");
			assertThat(browser.texts(".fact[data-level=bad] dt")).containsExactly("Slow handlers", "Blocked");
			assertThat(fact("Failures")).matches("None in the last 10 s\\. Since the start: handler error [\\d,]+\\.");
		});
		assertNoErrors();
	}

	@ParameterizedTest
	@CsvSource({ "1280,light", "1280,dark", "360,light", "360,dark" })
	void thePageBeginsWithTheStateOfThePool(int width, String scheme) {
		browser.size(width, 740);
		browser.prefer("prefers-color-scheme", scheme);
		open();
		await(() -> assertThat(fact("State")).startsWith("Idle"));
		assertThat(browser.run("""
				return ["status", "tiles", "handlers", "view"]
					.map((id) => document.getElementById(id).getBoundingClientRect().top)
					.every((top, index, all) => index === 0 || top > all[index - 1]);
				""")).isEqualTo(true);
		assertThat(browser.run("""
				return document.getElementById("status").getBoundingClientRect().bottom < innerHeight
					&& document.documentElement.scrollWidth <= innerWidth;
				""")).as("the state is in view, and nothing is cut off").isEqualTo(true);
		assertNoErrors();
	}

	@Test
	void theApplicationIsNamedInThePageAndItsTitle() {
		String host = "127.0.0.1:" + this.http.getAddress().getPort();
		open();
		await(() -> assertThat(fact("State")).startsWith("Idle"));
		assertThat(browser.text("#application")).isEqualTo(host);
		assertThat(browser.run("return document.title")).isEqualTo("Taxi stand, " + host);
		this.look = new Look().application("<b>orders</b>\\u202e");
		await(() -> {
			assertThat(browser.text("#application")).isEqualTo("<b>orders</b>\\u202e");
			assertThat(browser.run("return document.title")).isEqualTo("<b>orders</b>\\u202e: taxi stand, " + host);
		});
		assertThat(browser.count("h1 b")).isZero();
		assertNoErrors();
	}

	private void open() {
		browser.open("http://127.0.0.1:" + this.http.getAddress().getPort() + "/actuator/leaderfollowers");
	}

	private static String fact(String name) {
		List<String> names = browser.texts("#facts dt");
		assertThat(names).containsExactly("State", "Overload", "Failures", "Slow handlers", "Blocked");
		return browser.texts("#facts dd").get(names.indexOf(name));
	}

	private static void assertNoErrors() {
		assertThat(browser.errors()).isEmpty();
	}

	private static void await(ThrowingRunnable assertion) {
		Awaitility.await().untilAsserted(assertion);
	}

	private void answer(HttpExchange exchange) throws IOException {
		String accept = exchange.getRequestHeaders().getFirst("Accept");
		if (accept.contains("text/html")) {
			String page = new ClassPathResource("taxi-stand.html", LeaderFollowersEndpointWebExtension.class)
				.getContentAsString(StandardCharsets.UTF_8);
			respond(exchange, "text/html", page);
		}
		else if (exchange.getRequestURI().getPath().endsWith("/leaderfollowers")) {
			respond(exchange, "application/json", this.look.json(this.looks.incrementAndGet()));
		}
		else {
			respond(exchange, "application/json", """
					{ "_links": { "self": { "href": "/actuator" },
						"leaderfollowers": { "href": "/actuator/leaderfollowers" } } }""");
		}
	}

	private static void respond(HttpExchange exchange, String type, String text) throws IOException {
		byte[] body = text.getBytes(StandardCharsets.UTF_8);
		exchange.getResponseHeaders().add("Content-Type", type + ";charset=UTF-8");
		exchange.sendResponseHeaders(200, body.length);
		try (exchange) {
			exchange.getResponseBody().write(body);
		}
	}

	/**
	 * What the endpoint answers: a pool with one server, by the number of the look.
	 */
	private static final class Look {

		private String application = "";

		private double messagesBefore;

		private double messagesEach;

		private double secondsBefore;

		private double secondsEach;

		private int failuresBefore;

		private int failuresEach;

		private String thread = "";

		private int open;

		private int buffered;

		Look application(String name) {
			this.application = "\"application\": \"%s\",".formatted(name);
			return this;
		}

		/** Messages of each second, and how long the handler takes for them together. */
		Look handles(double messages, double seconds) {
			this.messagesEach = messages;
			this.secondsEach = seconds;
			return this;
		}

		/** Messages until now. */
		Look handled(double messages, double seconds) {
			this.messagesBefore = messages;
			this.secondsBefore = seconds;
			return this;
		}

		Look fails(int times) {
			this.failuresEach = times;
			return this;
		}

		Look failed(int times) {
			this.failuresBefore = times;
			return this;
		}

		/** A thread has been in the handler since a look. */
		Look rides(int since) {
			this.thread = rider(START.plusSeconds(since), "");
			return this;
		}

		/** A thread has been in the handler for so long whenever somebody looks. */
		Look ridesFor(int seconds, String waitsFor) {
			this.thread = rider("@" + seconds, waitsFor.isEmpty() ? ""
					: ", \"waitsFor\": \"%s\", \"waitingSince\": \"@%d\"".formatted(waitsFor, seconds));
			return this;
		}

		private static String rider(Object since, String waiting) {
			return """
					, { "name": "lf-2", "role": "PROCESSING", "since": "%s", "server": "orders", "handler": "gate" %s }"""
				.formatted(since, waiting);
		}

		Look open(int connections) {
			this.open = connections;
			return this;
		}

		Look buffered(int bytes) {
			this.buffered = bytes;
			return this;
		}

		String json(int number) {
			Instant time = START.plusSeconds(number);
			double messages = this.messagesBefore + this.messagesEach * number;
			String rider = Pattern.compile("@(\\d+)")
				.matcher(this.thread)
				.replaceAll((age) -> time.minusSeconds(Long.parseLong(age.group(1))).toString());
			return """
					{ %s "time": "%s",
						"pools": { "tellers": { "state": "RUNNING",
							"configuration": { "threads": { "min": 2, "max": 8 }, "maxBufferedBytes": 1000 },
							"bufferedBytes": %d,
							"threads": [{ "name": "lf-1", "role": "LEADER", "since": "%2$s" } %s],
							"handleSets": [{ "name": "tellers-0", "leader": "lf-1", "ready": 0, "vacantFor": "PT0S",
								"handles": { "registered": 1 }, "events": { "READ": %s } }] } },
						"servers": { "orders": { "pool": "tellers", "handler": "gate", "state": "RUNNING",
							"connections": { "open": %d, "max": 100, "closed": { "PEER": %d, "HANDLER_ERROR": %d } },
							"messages": { "received": %5$s }, "handling": { "total": %s } } } }""".formatted(
					this.application, time, this.buffered, rider, messages, this.open, number,
					this.failuresBefore + this.failuresEach * number, this.secondsBefore + this.secondsEach * number);
		}

	}

}
