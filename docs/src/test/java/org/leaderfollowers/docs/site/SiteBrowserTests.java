package org.leaderfollowers.docs.site;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.openqa.selenium.Keys;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the site in a real browser, opened from files unless a test says otherwise.
 */
@Timeout(300)
class SiteBrowserTests {

	/** Only the drawings of diagrams need inline styles. */
	private static final String POLICY = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
			+ "img-src 'self' data:; font-src 'self'";

	/**
	 * Computes the contrast of all texts with their background; values below 4.5 are
	 * returned.
	 */
	private static final String LOW_CONTRAST = """
			const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
			const channels = (colour) => {
				canvas.clearRect(0, 0, 1, 1);
				canvas.fillStyle = colour;
				canvas.fillRect(0, 0, 1, 1);
				return [...canvas.getImageData(0, 0, 1, 1).data];
			};
			const luminance = (colour) => channels(colour).slice(0, 3)
				.map((value) => value / 255)
				.map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
				.reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
			const behind = (element) => {
				for (let box = element; box; box = box.parentElement) {
					const colour = getComputedStyle(box).backgroundColor;
					if (channels(colour)[3] === 255) {
						return colour;
					}
				}
				return "Canvas";
			};
			const low = new Set();
			const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
			while (walker.nextNode()) {
				const element = walker.currentNode.parentElement;
				if (walker.currentNode.data.trim() && element.checkVisibility() && !element.closest("svg, .mermaid")) {
					const [one, other] = [luminance(getComputedStyle(element).color), luminance(behind(element))];
					if ((Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05) < 4.5) {
						low.add(element.tagName + "." + element.className + " " + walker.currentNode.data.trim());
					}
				}
			}
			return [...low];
			""";

	private static Browser browser;

	private static HttpServer server;

	@BeforeAll
	static void start() throws IOException {
		browser = Browser.start();
		server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
		server.createContext("/", SiteBrowserTests::serve);
		server.start();
	}

	private static void serve(HttpExchange exchange) throws IOException {
		try (exchange) {
			Path file = SiteTests.SITE.resolve(exchange.getRequestURI().getPath().substring(1));
			boolean found = Files.isRegularFile(file);
			byte[] body = found ? Files.readAllBytes(file) : new byte[0];
			exchange.getResponseHeaders().set("Content-Type", typeOf(file.toString()));
			exchange.getResponseHeaders().set("Content-Security-Policy", POLICY);
			exchange.sendResponseHeaders(found ? 200 : 404, (body.length > 0) ? body.length : -1);
			exchange.getResponseBody().write(body);
		}
	}

	private static String typeOf(String name) {
		return switch (name.substring(name.lastIndexOf('.') + 1)) {
			case "html" -> "text/html; charset=utf-8";
			case "css" -> "text/css";
			case "js" -> "text/javascript";
			case "svg" -> "image/svg+xml";
			case "png" -> "image/png";
			default -> "application/octet-stream";
		};
	}

	@AfterAll
	static void stop() {
		if (server != null) {
			server.stop(0);
		}
		if (browser != null) {
			browser.close();
		}
	}

	@BeforeEach
	void forget() {
		browser.size(1280, 900);
		browser.emulate("", "light");
		open("index.html");
		browser.run("localStorage.clear()");
	}

	@AfterEach
	void nothingFailed() {
		assertThat(browser.errors()).isEmpty();
	}

	private static void open(String page) {
		// If only the fragment of the address changed, the browser would scroll instead
		// of loading the page.
		browser.open("about:blank");
		browser.open(SiteTests.SITE.toUri() + page);
	}

	@Test
	void everyPageFitsNarrowScreensAndObeysAStrictPolicy() throws IOException {
		browser.size(360, 740);
		List<String> pages = SiteTests.pages();
		assertThat(pages).contains("index.html", "benchmarks.html");
		for (String page : pages) {
			browser.open(URI.create("http://localhost:" + server.getAddress().getPort() + "/" + page));
			browser.await("!document.querySelector('code[data-lang=mermaid]')");
			Long width = browser.run("return document.documentElement.scrollWidth");
			assertThat(width).as(page).isEqualTo(360);
			assertThat(browser.errors()).as(page).isEmpty();
		}
	}

	@Test
	void searchFindsPropertiesByKeyboard() {
		browser.type("/");
		browser.type("max-connections");
		browser.await("document.querySelector('#results:not([hidden]) [aria-selected=true]')");
		browser.await("document.getElementById('query').getAttribute('aria-activedescendant') === 'result-0'");
		browser.type(Keys.ARROW_DOWN);
		assertThat((String) browser.run("return document.querySelector('#results [aria-selected=true]').id"))
			.isEqualTo("result-1");
		browser.type(Keys.ARROW_UP, Keys.ENTER);
		browser.await("location.href.endsWith('.max-connections')");
		assertThat((String) browser.run("return document.querySelector(':target code').textContent"))
			.isEqualTo("max-connections");
	}

	@Test
	void searchFindsWordsOfTheTextAndTreatsMarkupAsText() {
		browser.type("/");
		browser.type("SlowConsumerException");
		browser.await("document.querySelector('#results [data-target=\"how-to.html#how-to-slow-peers\"] mark')");
		browser.type(Keys.ESCAPE);
		browser.await("document.getElementById('results').hidden");
		browser.run("document.getElementById('query').value = ''");
		browser.type("/");
		browser.type("<img src=x onerror=alert(1)>");
		browser.await("document.getElementById('found').textContent === 'Nothing found'");
		assertThat((Long) browser.run("return document.querySelectorAll('#results img').length")).isZero();
	}

	@Test
	void coloursFollowTheSystemUntilTheReaderChooses() {
		String dark = "getComputedStyle(document.body).backgroundColor === 'rgb(20, 24, 29)'";
		browser.await("!(" + dark + ")");
		browser.emulate("", "dark");
		browser.await(dark);
		browser.click("#theme");
		browser.await("!(" + dark + ")");
		open("how-it-works.html");
		browser.await("!(" + dark + ")");
		browser.click("#theme");
		browser.await(dark);
		browser.emulate("", "light");
		browser.await("!(" + dark + ")");
		browser.click("#theme");
		open("handlers.html");
		browser.await(dark);
	}

	@Test
	void textsCanBeReadInBothColours() {
		for (String colours : List.of("light", "dark")) {
			browser.emulate("", colours);
			for (String page : List.of("index.html", "getting-started.html", "parallel.html", "conversations.html")) {
				open(page);
				browser.await("document.querySelector('#theme:not([hidden])')");
				assertThat((List<?>) browser.run(LOW_CONTRAST)).as(page + ", " + colours).isEmpty();
			}
		}
	}

	@Test
	void listingsAreCopied() {
		open("getting-started.html");
		browser.run("document.querySelector('pre code[data-lang=console]').scrollIntoView({ block: 'center' })");
		// Without this, the message could disappear before the test sees it.
		browser.run("const wait = window.setTimeout;"
				+ " window.setTimeout = (then, millis, ...more) => (millis === 2000) ? 0 : wait(then, millis, ...more)");
		browser.click("pre:has(code[data-lang=console]) + .copy");
		browser.await("document.querySelector('.copy[data-state]')?.textContent === 'Copied'");
		browser.type("/");
		browser.paste();
		browser.await("document.getElementById('query').value === 'nc localhost 7070'");
	}

	@Test
	void tabsAreChosenTogetherAndRemembered() {
		open("getting-started.html");
		String yaml = "[...document.querySelectorAll('[role=tabpanel]')]"
				+ ".filter((panel) => panel.checkVisibility()).map((panel) => panel.querySelector('code').dataset.lang).join()";
		browser.await(yaml + " === 'yaml,yaml'");
		browser.click("#tab-0-0");
		browser.type(Keys.ARROW_RIGHT);
		browser.await(yaml + " === 'properties,properties'");
		browser.await("document.activeElement.id === 'tab-0-1'");
		open("udp.html");
		browser.await(yaml + " === 'properties'");
	}

	@Test
	void chaptersCanBeOpenedOnNarrowScreens() {
		browser.size(360, 740);
		open("tls.html");
		browser.await("!document.getElementById('chapters').checkVisibility()");
		browser.click("#menu");
		browser.await("document.getElementById('chapters').checkVisibility()");
		browser.await("document.getElementById('menu').getAttribute('aria-expanded') === 'true'");
		browser.click("#chapters a[href='udp.html']");
		browser.await("location.pathname.endsWith('/udp.html')");
	}

	@Test
	void addressesOfTheGuideWithOnePageStillWork() {
		open("index.html#runbook-pool-starved");
		browser.await("location.href.endsWith('/runbook.html#runbook-pool-starved')");
	}

	@Test
	void onlyTheTextIsPrinted() {
		open("handlers.html");
		browser.await("document.getElementById('chapters').checkVisibility()");
		browser.emulate("print", "dark");
		browser.await("getComputedStyle(document.body).backgroundColor === 'rgb(255, 255, 255)'");
		for (String selector : List.of(".bar", "#chapters", "#sections", ".pager", ".copy")) {
			browser.await("!document.querySelector(arguments[0]).checkVisibility()", selector);
		}
		browser.await("document.querySelector('article h1').checkVisibility()");
	}

}
