package org.leaderfollowers.docs.site;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.logging.Level;
import java.util.stream.Stream;

import org.awaitility.Awaitility;
import org.openqa.selenium.By;
import org.openqa.selenium.Keys;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.interactions.Actions;
import org.openqa.selenium.logging.LogEntry;
import org.openqa.selenium.logging.LogType;
import org.openqa.selenium.logging.LoggingPreferences;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

/** Chromium without a window. */
final class Browser implements AutoCloseable {

	/** Long enough for a browser to start and draw a page on a busy machine. */
	private static final Duration PATIENCE = Duration.ofMinutes(2);

	private final ChromeDriver driver;

	private Browser(Path chromium, Path chromedriver) {
		LoggingPreferences logging = new LoggingPreferences();
		logging.enable(LogType.BROWSER, Level.ALL);
		ChromeOptions options = new ChromeOptions();
		options.setBinary(chromium.toFile());
		options.setCapability("goog:loggingPrefs", logging);
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

	void open(Object address) {
		this.driver.get(address.toString());
	}

	void size(int width, int height) {
		this.driver.executeCdpCommand("Emulation.setDeviceMetricsOverride",
				Map.of("width", width, "height", height, "deviceScaleFactor", 1, "mobile", width < 700));
	}

	/**
	 * Emulates a medium, such as {@code print}, and the colour scheme that the system
	 * prefers.
	 */
	void emulate(String medium, String colours) {
		this.driver.executeCdpCommand("Emulation.setEmulatedMedia",
				Map.of("media", medium, "features", List.of(Map.of("name", "prefers-color-scheme", "value", colours))));
	}

	@SuppressWarnings("unchecked")
	<T> T run(String script, Object... arguments) {
		return (T) this.driver.executeScript(script, arguments);
	}

	/** Waits for a condition of the page. */
	void await(String condition, Object... arguments) {
		Awaitility.await()
			.alias(condition)
			.atMost(PATIENCE)
			.until(() -> Boolean.TRUE.equals(run("return Boolean(" + condition + ")", arguments)));
	}

	void click(String selector) {
		this.driver.findElement(By.cssSelector(selector)).click();
	}

	void type(CharSequence... keys) {
		new Actions(this.driver).sendKeys(keys).perform();
	}

	void paste() {
		new Actions(this.driver).keyDown(Keys.CONTROL).sendKeys("v").keyUp(Keys.CONTROL).perform();
	}

	/** Returns the errors and warnings on the console since the last call. */
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
