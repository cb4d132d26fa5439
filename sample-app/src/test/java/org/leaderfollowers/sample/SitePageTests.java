package org.leaderfollowers.sample;

import java.nio.charset.StandardCharsets;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.spring.test.LocalLfServerPort;
import org.leaderfollowers.spring.test.client.TcpTestClient;

import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.client.RestClient;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests of the web page that the sample serves. */
@OltpTest
@Timeout(120)
class SitePageTests {

	@LocalLfServerPort("web")
	private int port;

	@Test
	void pageAndWhatItNeedsAreServed() {
		ResponseEntity<String> page = get("/", "none");
		assertThat(page.getHeaders().getContentType()).isEqualTo(MediaType.valueOf("text/html;charset=utf-8"));
		assertThat(page.getBody()).contains("nc localhost 7070", "style.css", "site.js", "icon.svg",
				"/actuator/leaderfollowers");
		assertThat(get("/style.css", "none").getBody()).isNotEmpty();
		assertThat(get("/site.js", "none").getBody()).contains("location.hostname");
		assertThat(get("/icon.svg", "none").getHeaders().getContentType())
			.isEqualTo(MediaType.valueOf("image/svg+xml"));
	}

	@Test
	void pageIsNotSentTwice() {
		String tag = get("/", "none").getHeaders().getETag();
		assertThat(get("/", String.valueOf(tag)).getStatusCode()).isEqualTo(HttpStatus.NOT_MODIFIED);
	}

	@Test
	void configurationIsNotServed() {
		assertThat(get("/../application.yaml", "none").getStatusCode()).isEqualTo(HttpStatus.NOT_FOUND);
		assertThat(get("/application.yaml", "none").getStatusCode()).isEqualTo(HttpStatus.NOT_FOUND);
	}

	@Test
	void requestThatIsTooLargeIsRejected() {
		try (TcpTestClient client = Oltp.connect(this.port)) {
			client.sendRaw("GET / HTTP/1.1\r\nHost: a\r\nX: " + "x".repeat(9000));
			assertThat(new String(client.receiveRaw(12), StandardCharsets.ISO_8859_1)).isEqualTo("HTTP/1.1 431");
		}
	}

	private ResponseEntity<String> get(String path, String tag) {
		return RestClient.builder()
			.baseUrl("http://localhost:" + this.port)
			.defaultStatusHandler((status) -> true, (request, response) -> {
				// The tests check every status themselves.
			})
			.build()
			.get()
			.uri(path)
			.header(HttpHeaders.IF_NONE_MATCH, "\"" + tag.replace("\"", "") + "\"")
			.retrieve()
			.toEntity(String.class);
	}

}
