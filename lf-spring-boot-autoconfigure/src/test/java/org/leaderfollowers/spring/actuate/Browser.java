package org.leaderfollowers.spring.actuate;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.logging.Level;
import java.util.stream.Stream;

import org.openqa.selenium.By;
import org.openqa.selenium.Keys;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.interactions.Actions;
import org.openqa.selenium.logging.LogEntry;
import org.openqa.selenium.logging.LogType;
import org.openqa.selenium.logging.LoggingPreferences;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * Chromium without a screen.
 */
final class Browser implements AutoCloseable {

	/** For a browser that starts and a page that answers, on a busy machine. */
	private static final Duration PATIENCE = Duration.ofMinutes(2);

	private final ChromeDriver driver;

	private Browser(Path chromium, Path chromedriver) {
		LoggingPreferences logging = new LoggingPreferences();
		logging.enable(LogType.BROWSER, Level.ALL);
		ChromeOptions options = new ChromeOptions();
		options.setBinary(chromium.toFile());
		options.setCapability("goog:loggingPrefs", logging);
		// Without motion, or a click may miss an element that is scrolled into view.
		options.addArguments("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
				"--no-proxy-server", "--disable-background-networking", "--force-prefers-reduced-motion");
		this.driver = new ChromeDriver(new ChromeDriverService.Builder().usingDriverExecutable(chromedriver.toFile())
			.withTimeout(PATIENCE)
			.build(), options);
		this.driver.manage().timeouts().scriptTimeout(PATIENCE).pageLoadTimeout(PATIENCE);
	}

	/**
	 * Starts a browser, or aborts the test if there is none.
	 */
	static Browser start() {
		Optional<Path> chromium = find("chromium");
		Optional<Path> chromedriver = find("chromedriver");
		assumeTrue(chromium.isPresent() && chromedriver.isPresent(), "Needs chromium and chromedriver");
		return new Browser(chromium.get(), chromedriver.get());
	}

	private static Optional<Path> find(String program) {
		return Stream.of(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
			.map((directory) -> Path.of(directory, program))
			.filter(Files::isExecutable)
			.findFirst();
	}

	void open(String url) {
		this.driver.get(url);
	}

	void size(int width, int height) {
		this.driver.executeCdpCommand("Emulation.setDeviceMetricsOverride",
				Map.of("width", width, "height", height, "deviceScaleFactor", 1, "mobile", width < 700));
	}

	void prefer(String feature, String value) {
		this.driver.executeCdpCommand("Emulation.setEmulatedMedia",
				Map.of("features", List.of(Map.of("name", feature, "value", value))));
	}

	Object run(String script, Object... arguments) {
		return this.driver.executeScript(script, arguments);
	}

	/**
	 * The texts of all elements that are shown, each on one line.
	 */
	@SuppressWarnings("unchecked")
	List<String> texts(String selector) {
		return (List<String>) run(
				"return [...document.querySelectorAll(arguments[0])].filter((e) => e.checkVisibility())"
						+ ".map((e) => e.textContent.replace(/\\s+/g, ' ').trim())",
				selector);
	}

	/**
	 * The text of an element; empty if there is none or it is not shown.
	 */
	String text(String selector) {
		return String.join(" ", texts(selector));
	}

	long count(String selector) {
		return (Long) run("return document.querySelectorAll(arguments[0]).length", selector);
	}

	WebElement find(By by) {
		return this.driver.findElement(by);
	}

	void press(Keys key) {
		new Actions(this.driver).sendKeys(key).perform();
	}

	/**
	 * What went wrong since it was last asked for, from the console.
	 */
	List<String> errors() {
		return this.driver.manage()
			.logs()
			.get(LogType.BROWSER)
			.getAll()
			.stream()
			.filter((entry) -> entry.getLevel().intValue() >= Level.WARNING.intValue())
			.map(LogEntry::getMessage)
			.toList();
	}

	@Override
	public void close() {
		this.driver.quit();
	}

}
