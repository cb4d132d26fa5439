package org.leaderfollowers.spring.actuate;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

import org.awaitility.Awaitility;
import org.awaitility.core.ThrowingRunnable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.CloseRate;
import org.leaderfollowers.Connection;
import org.leaderfollowers.IdleMachine;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.FreePort;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.session.SessionDirectory;
import org.leaderfollowers.spring.session.SessionNode;
import org.openqa.selenium.By;
import org.openqa.selenium.Keys;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.web.client.RestClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link TaxiStand} in a real browser.
 */
@Timeout(180)
class TaxiStandBrowserTests {

	private static final String HOSTILE = "<img src=x onerror=alert(1)>\u202e\n\"'&amp;";

	/** A request is under way until the page has used its response. */
	private static final String COUNT_REQUESTS = """
			const ask = window.fetch;
			const end = () => setTimeout(() => window.underWay--);
			window.asked = window.underWay = 0;
			window.fetch = async (...request) => {
				window.asked++;
				window.underWay++;
				const response = ask(...request);
				response.then((answer) => answer.clone().text()).then(end, end);
				return response;
			};
			""";

	/** The pool has a second handle set, as the test says. */
	private static final String ADD_HANDLE_SET = """
			const ask = window.fetch;
			window.fetch = async (...request) => {
				const response = await ask(...request);
				const json = await response.clone().json();
				const pool = json.pools?.default;
				if (!pool) {
					return response;
				}
				const first = pool.handleSets[0];
				pool.handleSets.push({ ...first, name: "second", ...window.second });
				pool.unfolding = { inUse: 1, changes: 2, latest: { time: pool.time, from: 2, to: 1,
					reason: "threads of the pool kept 0.40 processors busy" } };
				return new Response(JSON.stringify(json), { status: response.status, headers: response.headers });
			};
			""";

	/** The pool has an event source, as the test says. */
	private static final String ADD_EVENT_SOURCE = """
			const ask = window.fetch;
			window.fetch = async (...request) => {
				const response = await ask(...request);
				const json = await response.clone().json();
				const pool = json.pools?.default;
				if (!pool) {
					return response;
				}
				pool.eventSources = [{ name: "reminders", inUse: true, leader: "lf-somebody", vacantFor: "PT0S",
					handling: 0, events: 7, handlerFailures: 0, sourceFailures: 0, ...window.source }];
				return new Response(JSON.stringify(json), { status: response.status, headers: response.headers });
			};
			""";

	/**
	 * The least number of the tiles, and the news, which are shown for some time only.
	 */
	private static final String WATCH = """
			window.least = 0;
			window.news = "";
			const look = () => {
				document.querySelectorAll("#tiles dd").forEach(
					(dd) => window.least = Math.min(window.least, parseFloat(dd.textContent) || 0));
				window.news += document.getElementById("news").textContent;
			};
			look();
			new MutationObserver(look)
				.observe(document.body, { childList: true, subtree: true, characterData: true });
			""";

	private static Browser browser;

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

	@AfterEach
	void leave() {
		browser.open("about:blank");
	}

	@Test
	void cabsAreTheThreadsInTheirRoles() throws IOException {
		try (Stand stand = new Stand("lf.pool.threads.min=4", "lf.pool.threads.max=8")) {
			stand.open();
			stand.block(2);
			await(() -> {
				JsonNode pool = stand.json("").at("/pools/default");
				assertThat(browser.texts(".bay .who")).containsExactly(pool.at("/handleSets/0/leader").asString());
				assertThat(browser.texts(".group .full .who"))
					.containsExactlyInAnyOrderElementsOf(names(pool, "PROCESSING"))
					.hasSize(2);
				assertThat(browser.texts("#queue-full .who"))
					.containsExactlyInAnyOrderElementsOf(names(pool, "FOLLOWER"));
				assertThat(browser.texts(".group .name")).containsExactly("gate");
				assertThat(browser.texts(".group .load")).allSatisfy((load) -> assertThat(load).contains("onnection"));
				assertThat(browser.text("#lead")).contains("leads").contains("2 are on the road");
				assertThat(browser.text("#handler-rows")).contains("gate");
				assertThat(browser.texts("#handler-rows td").get(1)).startsWith("3 of ");
			});
			browser.find(By.cssSelector("#everybody summary")).click();
			await(() -> assertThat(browser.count("#everybody-rows tr"))
				.isEqualTo(stand.json("").at("/pools/default/threads").size()));
			// Who is kept long stands out
			await(() -> {
				assertThat(browser.count(".group .cab[data-age]")).isEqualTo(2);
				assertThat(browser.text("#road-how")).contains("2 for 1 s and more");
			});
			assertNoErrors();
		}
	}

	@Test
	void handOffsAppearAndAreSteppedThroughWhilePaused() throws IOException {
		try (Stand stand = new Stand("lf.pool.promotion.policy=eager", "lf.pool.threads.max=4")) {
			stand.open();
			browser.run(COUNT_REQUESTS);
			await(() -> {
				stand.ask(2);
				assertThat(browser.count("#offs li")).isGreaterThan(3);
				assertThat(browser.texts("#tiles dd").get(0)).matches("[\\d.,]+/s");
				assertThat(browser.texts("#handler-rows td").get(3)).containsPattern("\\d+ (µs|ms|s)");
			});
			browser.find(By.id("pause")).click();
			await(() -> {
				assertThat(browser.text("#link")).isEqualTo("Paused");
				// Or a look that was under way when the page was paused would count.
				assertThat(browser.run("return window.underWay")).isEqualTo(0L);
			});
			Object asked = browser.run("return window.asked");
			String frozen = browser.text("#view");
			long latest = Long
				.parseLong(browser.text("#step-when").replaceAll("No\\. ([\\d,]+) .*", "$1").replace(",", ""));
			assertStep(stand, latest);
			browser.press(Keys.ARROW_LEFT);
			browser.press(Keys.ARROW_LEFT);
			assertStep(stand, latest - 2);
			browser.find(By.id("forth")).click();
			assertStep(stand, latest - 1);
			browser.find(By.id("back")).click();
			assertStep(stand, latest - 2);
			browser.run("document.activeElement.blur()");
			browser.press(Keys.HOME);
			await(() -> {
				assertThat(browser.text("#step-where")).startsWith("Hand-off 1 of");
				assertThat(browser.find(By.id("back")).isEnabled()).isFalse();
			});
			browser.press(Keys.END);
			assertStep(stand, latest);
			assertThat(browser.text("#view")).isEqualTo(frozen);
			assertThat(browser.run("return window.asked")).isEqualTo(asked);
			browser.find(By.id("pause")).click();
			await(() -> {
				assertThat(browser.text("#link")).isEqualTo("Live");
				assertThat(browser.text("#step")).isEmpty();
			});
			assertNoErrors();
		}
	}

	@Test
	void starvationNamesTheHandlerThatHoldsTheThreads() throws IOException {
		try (Stand stand = new Stand("lf.pool.threads.min=1", "lf.pool.threads.max=2")) {
			stand.open();
			await(() -> assertThat(browser.text("#lead")).contains("leads"));
			assertThat(browser.text("#starving")).isEmpty();
			stand.block(2);
			await(() -> assertThat(browser.text("#starving")).contains("Starving")
				.contains("gate holds 2 threads")
				.contains("threads.max is 2"));
			await(() -> {
				assertThat(browser.text(".bay")).contains("Nobody leads");
				assertThat(browser.count(".tile.bad")).isEqualTo(2);
			});
			stand.gate.opened.countDown();
			await(() -> assertThat(browser.text("#starving")).isEmpty());
			assertNoErrors();
		}
	}

	@Test
	void severalCabsLoadWhereManyPassengersWait() throws IOException {
		ApplicationContextInitializer<GenericApplicationContext> idle = (context) -> context
			.registerBean(IdleMachine.class);
		try (Stand stand = new Stand(idle, "lf.pool.parallelism=4", "lf.pool.handle-sets=1")) {
			stand.open();
			await(() -> {
				stand.ask(50);
				assertThat(browser.text("#lead")).contains("leads");
			});
			// On a busy machine, threads may have taken turns with the only client. The
			// page shows the last 10 seconds.
			Awaitility.await()
				.atMost(Duration.ofMinutes(1))
				.untilAsserted(() -> assertThat(browser.text(".bay .shared")).isEmpty());
			stand.connect(20);
			await(() -> {
				stand.askAtOnce(20);
				assertThat(browser.text(".bay .shared")).matches(
						"Several cabs load at once; \\d+ carr(y|ies) passengers now\\. The last was called .+s ago: "
								+ "\\d+ passengers? waited, .+s of work for one cab; a call costs .+s\\.");
			});
			for (int width : new int[] { 320, 768, 1280 }) {
				browser.size(width, 800);
				assertFits();
			}
			assertNoErrors();
		}
	}

	@Test
	void aHandleSetHasItsStandWhileItNeedsALeader() throws IOException {
		try (Stand stand = new Stand()) {
			stand.open();
			await(() -> assertThat(browser.text("#lead")).contains("leads"));
			assertThat(browser.text("#configuration")).doesNotContain("handle sets");
			browser.run("window.second = { inUse: true }");
			browser.run(ADD_HANDLE_SET);
			await(() -> {
				assertThat(browser.count(".bay")).isEqualTo(2);
				assertThat(browser.text("#lead")).startsWith("2 of 2 handle sets have a leader");
				assertThat(browser.text("#configuration"))
					.matches(".*; 2 to 1 handle sets .* ago: threads of the pool kept 0\\.40 processors busy");
			});
			browser.run("window.second = { inUse: false, leader: null, vacantFor: 'PT5S' }");
			await(() -> assertThat(browser.text("#lead")).startsWith("1 of 2 handle sets have a leader"));
			browser.run("window.second.handles = { registered: 0, active: 0, deactivated: 0 }");
			await(() -> {
				assertThat(browser.count(".bay")).isOne();
				assertThat(browser.text("#lead")).contains("leads");
			});
			assertNoErrors();
		}
	}

	@Test
	void eventSourceHasAStandLikeAHandleSet() throws IOException {
		try (Stand stand = new Stand()) {
			stand.open();
			browser.run(ADD_EVENT_SOURCE);
			await(() -> {
				assertThat(browser.count(".bay")).isEqualTo(2);
				assertThat(browser.text("#lead")).startsWith("2 of 2 handle sets and event sources have a leader");
				assertThat(browser.texts(".bay .who")).contains("lf-somebody");
				assertThat(browser.texts(".bay"))
					.anySatisfy((bay) -> assertThat(bay).contains("reminders").contains("event source, 0 handled now"));
			});
			browser.run("window.source = { leader: null, handling: 3 }");
			await(() -> assertThat(browser.texts(".bay"))
				.anySatisfy((bay) -> assertThat(bay).contains("Nobody leads while its events are handled")
					.contains("3 handled now")));
			browser.run("window.source = { leader: null, vacantFor: 'PT5S' }");
			await(() -> assertThat(browser.texts(".bay"))
				.anySatisfy((bay) -> assertThat(bay).contains("Nobody leads for 5")));
			browser.run("window.source = { leader: null, inUse: false }");
			await(() -> assertThat(browser.count(".bay")).isOne());
			assertNoErrors();
		}
	}

	@Test
	void serverThatTakesOnNothingNewIsNamed() throws IOException {
		try (Stand stand = new Stand()) {
			stand.open();
			await(() -> {
				assertThat(browser.text("#lead")).contains("leads");
				assertThat(browser.run("return document.title").toString()).endsWith(", 127.0.0.1:" + stand.httpPort);
			});
			assertThat(browser.text("#troubles")).isEmpty();
			LeaderFollowersServers servers = stand.context.getBean(LeaderFollowersServers.class);
			servers.pause("default");
			await(() -> assertThat(browser.text("#troubles"))
				.isEqualTo("Server default is paused: it takes on nothing new."));
			servers.resume("default");
			await(() -> assertThat(browser.text("#troubles")).isEmpty());
			try (LineClient second = new LineClient(servers.get("default").port())) {
				await(() -> assertThat(servers.get("default").snapshot().openConnections()).isEqualTo(2));
				servers.evacuate("default", CloseRate.of("1/h"), "");
				await(() -> assertThat(browser.text("#troubles"))
					.isEqualTo("Server default is being evacuated, at most 1/h: 1 connection left to tell."));
				assertThat(second).isNotNull();
				servers.drain("default", Duration.ZERO, "");
			}
			await(() -> assertThat(browser.text("#troubles"))
				.isEqualTo("Server default is stopped: nobody is served until the application starts it again."));
			assertNoErrors();
		}
	}

	@Test
	void findsTheServerAgainAfterItWasStartedAnew() throws IOException {
		int port = FreePort.find();
		try (Stand stand = new Stand("server.port=" + port)) {
			stand.open();
			await(() -> {
				stand.ask(50);
				assertThat(browser.text("#link")).isEqualTo("Live");
				assertThat(browser.texts("#tiles dd").get(0)).matches("[1-9].*/s");
			});
		}
		await(() -> {
			assertThat(browser.text("#lost")).contains("No connection since");
			assertThat(browser.text("#link")).isEqualTo("No connection");
		});
		try (Stand stand = new Stand("server.port=" + port)) {
			browser.run(WATCH);
			await(() -> {
				stand.ask(1);
				assertThat(browser.text("#link")).isEqualTo("Live");
				assertThat(browser.texts("#tiles dd").get(0)).matches("[1-9].*/s|0\\.\\d+/s");
				assertThat(browser.text("#lost")).isEmpty();
			});
			assertThat(browser.run("return window.news").toString()).contains("started again");
			assertThat(browser.run("return window.least")).isEqualTo(0L);
		}
	}

	@Test
	void namesCannotBecomeMarkup() throws IOException {
		ApplicationContextInitializer<GenericApplicationContext> hostile = (context) -> context.registerBean(HOSTILE,
				Hostile.class);
		try (Stand stand = new Stand(hostile, "spring.application.name=<i>app</i>", "lf.servers.second.port=0",
				"lf.servers.second.address=127.0.0.1", "lf.servers.second.pool=<b>p</b>",
				"lf.pools[<b>p</b>].threads.min=2")) {
			browser.size(360, 740);
			browser.open(stand.url() + "#pool=" + "%3Cb%3Ep%3C/b%3E");
			await(() -> {
				assertThat(browser.texts(".group .name"))
					.containsExactly("<img src=x onerror=alert(1)>\\u202e\\u000a\"'&amp;");
				assertThat(browser.text("#application")).isEqualTo("<i>app</i>");
				assertThat(browser.run("return document.title")).asString().startsWith("<i>app</i>: taxi stand");
				assertThat(browser.text("#status-name")).isEqualTo("Pool <b>p</b>");
				assertThat(browser.text("#lead")).contains("<b>p</b>");
				assertThat(browser.text("#pools")).contains("<b>p</b>");
			});
			assertThat(browser.count("img, b b, h1 i, h2 b, h3 b")).isZero();
			assertFits();
			assertNoErrors();
		}
	}

	@Test
	void fitsEveryScreenInLightAndDark() throws IOException {
		try (Stand stand = new Stand("lf.pool.handle-sets=3", "lf.pool.threads.min=12", "lf.pool.threads.max=16")) {
			stand.open();
			stand.block(6);
			await(() -> {
				assertThat(browser.count(".group .cab")).isEqualTo(6);
				assertThat(browser.count(".bay")).isEqualTo(3);
			});
			browser.run("document.querySelectorAll('details').forEach((one) => one.open = true)");
			for (int width : new int[] { 320, 360, 768, 1280, 1920 }) {
				browser.size(width, 800);
				assertFits();
				assertThat(browser.find(By.id("pause")).isDisplayed()).isTrue();
			}
			browser.prefer("prefers-color-scheme", "light");
			await(() -> {
				assertThat(brightness("backgroundColor")).isGreaterThan(200);
				assertThat(brightness("color")).isLessThan(60);
			});
			browser.prefer("prefers-color-scheme", "dark");
			await(() -> {
				assertThat(brightness("backgroundColor")).isLessThan(60);
				assertThat(brightness("color")).isGreaterThan(200);
			});
			assertNoErrors();
		}
	}

	@Test
	void showsFiveHundredThreads() throws IOException {
		try (Stand stand = new Stand("lf.pool.threads.min=500", "lf.pool.threads.max=500")) {
			stand.open();
			stand.block(40);
			await(() -> {
				assertThat(browser.count(".scene .cab")).isEqualTo(500);
				assertThat(browser.count(".group .cab")).isEqualTo(40);
			});
			// The same nodes for the same threads
			browser.run("document.querySelectorAll('.scene .cab').forEach((cab) => cab.known = true)");
			long looks = looks();
			await(() -> assertThat(looks()).isGreaterThan(looks + 2));
			assertThat(
					browser.run("return [...document.querySelectorAll('.scene .cab')].filter((c) => c.known).length"))
				.isEqualTo(500L);
			browser.size(360, 740);
			assertFits();
			assertNoErrors();
		}
	}

	@Test
	void asksOnlyWhereItCameFromWhereverThatIs() throws IOException {
		try (Stand stand = new Stand("management.server.port=0", "management.server.address=127.0.0.1",
				"management.server.base-path=/intern", "management.endpoints.web.base-path=/ops",
				"management.endpoints.web.path-mapping.leaderfollowers=stand",
				"management.endpoints.web.path-mapping.lfhandoffs=moves/latest", "lf.pool.promotion.policy=eager")) {
			browser.open(stand.managementUrl("/intern/ops/stand"));
			await(() -> {
				stand.ask(2);
				assertThat(browser.count("#offs li")).isPositive();
			});
			assertThat(browser.run("return performance.getEntriesByType('resource').map((one) => new URL(one.name))"
					+ ".filter((one) => one.protocol !== 'data:' && one.origin !== location.origin).map(String)"))
				.isEqualTo(List.of());
			assertNoErrors();
		}
	}

	@Test
	void saysWhatToDoToSeeHandOffs() throws IOException {
		try (Stand stand = new Stand("management.endpoints.web.exposure.include=leaderfollowers")) {
			stand.open();
			await(() -> {
				assertThat(browser.text("#offs-none")).contains("lfhandoffs")
					.contains("management.endpoints.web.exposure.include");
				assertThat(browser.text("#lead")).contains("leads");
			});
			browser.size(320, 740);
			assertFits();
			assertNoErrors();
		}
	}

	@Test
	void showsClientsIfTheirEndpointIsExposed() throws IOException {
		try (Stand stand = withClients("leaderfollowers,lfclients")) {
			browser.open(stand.url() + "#pool=default");
			await(() -> {
				assertThat(browser.texts("#client-rows th")).containsExactly("ledger");
				assertThat(browser.text("#client-rows")).contains("127.0.0.1:1 (", "0 of 1");
			});
			browser.size(320, 740);
			assertFits();
			assertNoErrors();
		}
	}

	@Test
	void showsNoClientsIfTheirEndpointIsNotExposed() throws IOException {
		try (Stand stand = withClients("leaderfollowers")) {
			browser.open(stand.url() + "#pool=default");
			await(() -> assertThat(browser.text("#lead")).contains("leads"));
			assertThat(browser.texts("#client-rows th")).isEmpty();
			assertNoErrors();
		}
	}

	@Test
	void showsTheNodesOfACluster() throws IOException {
		SessionDirectory directory = mock(SessionDirectory.class);
		given(directory.node()).willReturn("north-1");
		given(directory.nodes()).willReturn(List.of(new SessionNode("north-1", 1, true),
				new SessionNode("south-2", 2999, false), new SessionNode(HOSTILE, 0, false)));
		try (Stand stand = withSessions(directory, "leaderfollowers,lfsessions")) {
			stand.open();
			await(() -> {
				assertThat(browser.texts("#node-rows th span:first-child")).startsWith("north-1", "south-2").hasSize(3);
				assertThat(browser.texts("#node-rows td")).containsExactly("1", "2,999", "0");
				assertThat(browser.texts("#node-rows .here:not([hidden])")).containsExactly("this one");
				assertThat(browser.text("#nodes-how")).isEqualTo("3 nodes with 3,000 sessions");
				assertThat(browser.text("#engine")).contains("can be reached");
				assertThat(browser.count("#engine [data-level=good]")).isEqualTo(1);
			});
			browser.size(320, 740);
			assertFits();
			given(directory.nodes()).willReturn(List.of(new SessionNode("north-1", 1, true)));
			given(directory.problem()).willReturn("Redis cannot be reached: " + HOSTILE);
			await(() -> {
				assertThat(browser.texts("#node-rows td")).hasSize(1);
				assertThat(browser.text("#engine")).contains("Redis cannot be reached");
				assertThat(browser.count("#engine [data-level=warn]")).isEqualTo(1);
			});
			assertFits();
			assertNoErrors();
		}
	}

	@Test
	void showsNoNodesWithoutAClusterOrItsEndpoint() throws IOException {
		try (Stand stand = new Stand("management.endpoints.web.exposure.include=leaderfollowers,lfsessions")) {
			assertNoNodes(stand);
		}
		SessionDirectory directory = mock(SessionDirectory.class);
		given(directory.node()).willReturn("north-1");
		try (Stand stand = withSessions(directory, "leaderfollowers")) {
			assertNoNodes(stand);
		}
	}

	/** The picture is drawn after all endpoints have answered. */
	private static void assertNoNodes(Stand stand) {
		stand.open();
		await(() -> assertThat(browser.text("#lead")).contains("leads"));
		assertThat(browser.count("#nodes[hidden]")).isEqualTo(1);
		assertNoErrors();
		// Otherwise the page reports that its server is gone, also to the next stand.
		browser.open("about:blank");
	}

	private static Stand withSessions(SessionDirectory directory, String exposed) throws IOException {
		return new Stand((context) -> context.registerBean(SessionDirectory.class, () -> directory),
				"management.endpoints.web.exposure.include=" + exposed);
	}

	private static Stand withClients(String exposed) throws IOException {
		return new Stand("lf.clients.ledger.addresses=127.0.0.1:1", "lf.clients.ledger.correlation.type=in-order",
				"lf.clients.other.addresses=127.0.0.1:1", "lf.clients.other.correlation.type=in-order",
				"lf.clients.other.pool=elsewhere", "lf.pools.elsewhere.threads.max=4",
				"management.endpoints.web.exposure.include=" + exposed);
	}

	private static void assertStep(Stand stand, long number) throws IOException {
		JsonNode handOff = elements(stand.offs()).filter((one) -> one.get("number").asLong() == number)
			.findFirst()
			.orElseThrow();
		await(() -> {
			assertThat(browser.text("#step-when").replace(",", "")).contains("No. " + number + " ");
			assertThat(browser.texts("#story .who")).containsExactly(handOff.get("from").asString(),
					handOff.get("to").asString());
			assertThat(browser.text("#story .kind")).isEqualToIgnoringCase(handOff.get("kind").asString());
			assertThat(browser.text("#story .load")).contains(handOff.get("handle").asString())
				.contains(handOff.get("handleSet").asString());
			assertThat(browser.texts("#offs [aria-current] b")).containsExactly(handOff.get("to").asString());
		});
	}

	private static void assertFits() {
		await(() -> assertThat(
				browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth"))
			.isEqualTo(0L));
	}

	private static void assertNoErrors() {
		assertThat(browser.errors()).isEmpty();
	}

	private static long brightness(String property) {
		return (Long) browser.run("return Math.max(...getComputedStyle(document.body)[arguments[0]].match(/\\d+/g))",
				property);
	}

	private static long looks() {
		return (Long) browser.run("return performance.getEntriesByType('resource').length");
	}

	private static List<String> names(JsonNode pool, String role) {
		return elements(pool.get("threads")).filter((thread) -> thread.get("role").asString().equals(role))
			.map((thread) -> thread.get("name").asString())
			.toList();
	}

	private static Stream<JsonNode> elements(JsonNode array) {
		return StreamSupport.stream(array.spliterator(), false);
	}

	private static void await(ThrowingRunnable assertion) {
		Awaitility.await().untilAsserted(assertion);
	}

	/**
	 * An application with a server whose handler blocks if it is asked to.
	 */
	private static final class Stand implements AutoCloseable {

		private final ConfigurableApplicationContext context;

		private final List<LineClient> clients = new ArrayList<>();

		private final LineClient client;

		private final int httpPort;

		private final Gate gate;

		Stand(String... properties) throws IOException {
			this((context) -> {
			}, properties);
		}

		Stand(ApplicationContextInitializer<GenericApplicationContext> initializer, String... properties)
				throws IOException {
			List<String> arguments = new ArrayList<>(List.of("server.port=0", "server.address=127.0.0.1",
					"lf.server.port=0", "lf.server.address=127.0.0.1", "spring.main.banner-mode=off",
					"management.endpoints.web.exposure.include=leaderfollowers,lfhandoffs"));
			arguments.addAll(List.of(properties));
			this.context = new SpringApplicationBuilder(Application.class).initializers(initializer)
				.properties(arguments.toArray(String[]::new))
				.run();
			this.httpPort = port("local.server.port");
			this.gate = this.context.getBean(Gate.class);
			this.client = new LineClient(port("local.lf.server.port"));
			// Of a page of an earlier stand, which is left or is looked at on purpose.
			browser.errors();
			browser.size(1280, 900);
		}

		private int port(String property) {
			return this.context.getEnvironment().getRequiredProperty(property, Integer.class);
		}

		String url() {
			return "http://127.0.0.1:" + this.httpPort + "/actuator/leaderfollowers";
		}

		String managementUrl(String path) {
			return "http://127.0.0.1:" + port("local.management.port") + path;
		}

		void open() {
			browser.open(url());
		}

		/**
		 * Lets some threads wait in the handler.
		 */
		void block(int threads) throws IOException {
			for (int i = 0; i < threads; i++) {
				LineClient blocked = new LineClient(port("local.lf.server.port"));
				this.clients.add(blocked);
				blocked.send("block");
			}
		}

		void connect(int clients) throws IOException {
			for (int i = 0; i < clients; i++) {
				this.clients.add(new LineClient(port("local.lf.server.port")));
			}
		}

		/**
		 * Each client asks for a little work before any of them reads the answer.
		 */
		void askAtOnce(int times) throws IOException {
			for (int i = 0; i < times; i++) {
				for (LineClient one : this.clients) {
					one.send("work");
				}
				for (LineClient one : this.clients) {
					assertThat(one.read()).isEqualTo("work");
				}
			}
		}

		void ask(int times) {
			try {
				for (int i = 0; i < times; i++) {
					assertThat(this.client.ask("hello")).isEqualTo("hello");
				}
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		}

		JsonNode json(String path) {
			String body = RestClient.create(url() + path).get().retrieve().body(String.class);
			return JsonMapper.shared().readTree(body);
		}

		JsonNode offs() {
			String body = RestClient.create(url().replace("leaderfollowers", "lfhandoffs"))
				.get()
				.retrieve()
				.body(String.class);
			return JsonMapper.shared().readTree(body).get("handOffs");
		}

		@Override
		public void close() throws IOException {
			this.gate.opened.countDown();
			for (LineClient blocked : this.clients) {
				blocked.close();
			}
			this.client.close();
			this.context.close();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Application {

		@Bean
		@LfHandler
		Gate gate() {
			return new Gate();
		}

	}

	static class Gate implements MessageHandler {

		private static final long WORK_NANOS = TimeUnit.MICROSECONDS.toNanos(50);

		private final CountDownLatch opened = new CountDownLatch(1);

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			if (message.get(message.position()) == 'b') {
				try {
					this.opened.await();
				}
				catch (InterruptedException ex) {
					Thread.currentThread().interrupt();
				}
			}
			if (message.get(message.position()) == 'w') {
				long end = System.nanoTime() + WORK_NANOS;
				while (System.nanoTime() - end < 0) {
					Thread.onSpinWait();
				}
			}
			connection.send(message);
		}

	}

	@LfHandler(server = "second")
	static class Hostile implements MessageHandler {

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			connection.send(message);
		}

	}

}
