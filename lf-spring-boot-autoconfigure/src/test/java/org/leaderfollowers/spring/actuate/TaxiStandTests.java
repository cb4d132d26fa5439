package org.leaderfollowers.spring.actuate;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.spring.EchoHandler;
import org.leaderfollowers.spring.annotation.LfHandler;

import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.io.ClassPathResource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link TaxiStand}: the page as a file, and who gets it.
 */
class TaxiStandTests {

	private static final String CHROME = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,"
			+ "image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7";

	private static final String FIREFOX = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

	@ParameterizedTest
	@EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
	void onlyThoseWhoAskForHtmlGetThePage(WebApplicationType type) throws Exception {
		SpringApplication application = new SpringApplicationBuilder(Application.class).web(type)
			.properties("server.port=0", "server.address=127.0.0.1", "lf.server.port=0", "lf.server.address=127.0.0.1",
					"management.endpoints.web.exposure.include=leaderfollowers", "spring.main.banner-mode=off")
			.build();
		try (ConfigurableApplicationContext context = application.run()) {
			for (String accept : new String[] { CHROME, FIREFOX, "text/html", "text/html;charset=utf-8", "text/*",
					"application/json;q=0.5,text/html", "text/html;q=0.9,application/json;q=0.8" }) {
				HttpResponse<String> page = get(context, accept);
				assertThat(page.statusCode()).as(accept).isEqualTo(200);
				assertThat(page.headers().firstValue("Content-Type").orElse("")).as(accept)
					.isEqualToIgnoringCase("text/html;charset=UTF-8");
				assertThat(page.body()).isEqualTo(page());
			}
			for (String accept : new String[] { "*/*", null, "application/json", "application/*",
					"application/json,*/*", "text/plain,*/*;q=0.1", "application/vnd.spring-boot.actuator.v3+json" }) {
				HttpResponse<String> json = get(context, accept);
				assertThat(json.statusCode()).as(accept).isEqualTo(200);
				assertThat(json.headers().firstValue("Content-Type").orElse("")).as(accept)
					.startsWith("application/")
					.contains("json");
			}
			assertThat(get(context, "image/png").statusCode()).isEqualTo(406);
		}
	}

	@ParameterizedTest
	@EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
	void headersProtectThePageAndItsDataInABrowser(WebApplicationType type) throws Exception {
		String everything = "management.endpoints.web.exposure.include=*";
		String[][] places = { { "server", "/actuator", everything },
				{ "server", "/", "management.endpoints.web.base-path=/" },
				{ "server", "/api/actuator", "spring.mvc.servlet.path=/api", "spring.webflux.base-path=/api" },
				{ "management", "/ops", "management.endpoints.web.base-path=/ops", "management.server.port=0",
						"management.server.address=127.0.0.1", "management.endpoints.web.path-mapping.lfhandoffs=h" } };
		for (String[] place : places) {
			SpringApplication application = new SpringApplicationBuilder(Application.class).web(type)
				.properties("server.port=0", "server.address=127.0.0.1", "lf.server.port=0",
						"lf.server.address=127.0.0.1",
						"management.endpoints.web.exposure.include=leaderfollowers,lfhandoffs,info",
						"spring.main.banner-mode=off",
						// The class path has two reactive web servers.
						"spring.main.allow-bean-definition-overriding=true")
				.properties(Arrays.copyOfRange(place, 2, place.length))
				.build();
			try (ConfigurableApplicationContext context = application.run()) {
				String base = "http://127.0.0.1:" + context.getEnvironment().getProperty("local." + place[0] + ".port")
						+ place[1];
				String handOffs = (place.length == 6) ? "/h" : "/lfhandoffs";
				List<String> paths = new ArrayList<>(List.of("/leaderfollowers", "/leaderfollowers/default", handOffs,
						"/%6ceaderfollowers", "/leaderfollowers;a=b"));
				if (List.of(place).contains(everything)) {
					paths.addAll(List.of("/lfconnections", "/lfclients", "/lfsessions"));
				}
				for (String path : paths) {
					HttpResponse<String> response = get(URI.create(base.replaceAll("/$", "") + path), "text/html,*/*");
					assertThat(response.statusCode()).as(path).isEqualTo(200);
					assertThat(response.headers().allValues("X-Content-Type-Options")).as(path)
						.containsExactly("nosniff");
					assertThat(response.headers().allValues("X-Frame-Options")).as(path).containsExactly("DENY");
					assertThat(response.headers().allValues("Referrer-Policy")).as(path).containsExactly("no-referrer");
					assertThat(response.headers().allValues("Cache-Control")).as(path).containsExactly("no-store");
				}
				HttpResponse<String> info = get(URI.create(base.replaceAll("/$", "") + "/info"), "*/*");
				assertThat(info.statusCode()).isEqualTo(200);
				assertThat(info.headers().firstValue("X-Frame-Options")).isEmpty();
			}
		}
	}

	@ParameterizedTest
	@EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
	void pathsThatOnlyResembleThatOfAnEndpointHaveNoSuchHeaders(WebApplicationType type) throws Exception {
		SpringApplication application = new SpringApplicationBuilder(Application.class).web(type)
			.properties("server.port=0", "server.address=127.0.0.1", "lf.server.port=0", "lf.server.address=127.0.0.1",
					"management.endpoints.web.exposure.include=lfhandoffs,health", "spring.main.banner-mode=off",
					"management.endpoints.web.base-path=/", "management.endpoints.web.path-mapping.lfhandoffs=h")
			.build();
		try (ConfigurableApplicationContext context = application.run()) {
			URI base = URI.create("http://127.0.0.1:" + context.getEnvironment().getProperty("local.server.port"));
			for (String path : List.of("/h", "/h/")) {
				assertThat(get(base.resolve(path), "*/*").headers().allValues("X-Frame-Options")).as(path)
					.containsExactly("DENY");
			}
			for (String path : List.of("/health", "/home", "/api/h", "/api/history")) {
				assertThat(get(base.resolve(path), "*/*").headers().map()).as(path)
					.doesNotContainKeys("X-Frame-Options", "Cache-Control");
			}
		}
	}

	@Test
	void theContentSecurityPolicyNamesTheOneScriptAndTheOneStyle() throws Exception {
		String policy = find("<meta http-equiv=\"Content-Security-Policy\" content=\"([^\"]*)\">");
		assertThat(Arrays.stream(policy.split(";")).map(String::strip)).containsExactly("default-src 'none'",
				"script-src '" + hash(find("<script>(.*?)</script>")) + "'",
				"style-src '" + hash(find("<style>(.*?)</style>")) + "'", "img-src data:", "connect-src 'self'",
				"base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'");
	}

	@Test
	void thePageHasNoMarkupThatThePolicyWouldRefuse() throws Exception {
		String markup = page().replaceAll("(?s)<script>.*?</script>|<style>.*?</style>", "");
		assertThat(markup).doesNotContainPattern("(?i)<(script|style|iframe|form|base|object|embed)\\b")
			.doesNotContainPattern("(?i)\\s(on\\w+|style)\\s*=")
			.doesNotContainPattern("(?i)(src|href|action)\\s*=\\s*[\"'](?!#|data:image/svg)");
		assertThat(markup.indexOf("Content-Security-Policy")).isLessThan(markup.indexOf("<link"));
	}

	@Test
	void thePageNamesNoHost() throws Exception {
		assertThat(page().replaceAll("http://www\\.w3\\.org/2000/svg", ""))
			.doesNotContainPattern("(?i)(https?|wss?)://")
			.doesNotContainPattern("\\burl\\(|@import");
	}

	@Test
	void thePageIsPartOfANativeImage() {
		RuntimeHints hints = new RuntimeHints();
		new LeaderFollowersEndpointWebExtension.TaxiStandHints().registerHints(hints, getClass().getClassLoader());
		assertThat(RuntimeHintsPredicates.resource().forResource("org/leaderfollowers/spring/actuate/taxi-stand.html"))
			.accepts(hints);
	}

	private static String find(String regex) throws Exception {
		Matcher matcher = Pattern.compile(regex, Pattern.DOTALL).matcher(page());
		assertThat(matcher.find()).as(regex).isTrue();
		String found = matcher.group(1);
		assertThat(matcher.find()).as("another " + regex).isFalse();
		return found;
	}

	private static String hash(String text) throws Exception {
		byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
		return "sha256-" + Base64.getEncoder().encodeToString(digest);
	}

	private HttpResponse<String> get(ConfigurableApplicationContext context, String accept) throws Exception {
		return get(URI.create("http://127.0.0.1:" + context.getEnvironment().getProperty("local.server.port")
				+ "/actuator/leaderfollowers"), accept);
	}

	private HttpResponse<String> get(URI uri, String accept) throws Exception {
		HttpRequest.Builder request = HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(60));
		if (accept != null) {
			request.header("Accept", accept);
		}
		// A new connection each time: on one that had answered with 404, Netty sometimes
		// did not answer again, also without any filter of ours.
		return HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
	}

	private static String page() throws Exception {
		return new ClassPathResource("taxi-stand.html", LeaderFollowersEndpointWebExtension.class)
			.getContentAsString(StandardCharsets.UTF_8);
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Application {

		@Bean
		@LfHandler
		EchoHandler echo() {
			return new EchoHandler();
		}

	}

}
