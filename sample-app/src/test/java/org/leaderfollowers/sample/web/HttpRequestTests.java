package org.leaderfollowers.sample.web;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link HttpRequest}.
 */
class HttpRequestTests {

	@Test
	void readsRequest() {
		HttpRequest request = parse("GET /a?b HTTP/1.1~HOST: localhost~X-Tags:a~x-tags: \tb ~Empty:~~");
		assertThat(request.method()).isEqualTo("GET");
		assertThat(request.target()).isEqualTo("/a?b");
		assertThat(request.header("host")).isEqualTo("localhost");
		assertThat(request.header("x-tags")).isEqualTo("a, b");
		assertThat(request.header("empty")).isEmpty();
		assertThat(request.header("none")).isNull();
		assertThat(request.contentLength()).isZero();
	}

	@ParameterizedTest
	@ValueSource(strings = { "~~", "GET~~", "GET /~~", "GET  / HTTP/1.1~Host: a~~", " GET / HTTP/1.1~Host: a~~",
			"GET / HTTP/1.1 ~Host: a~~", "GET / x HTTP/1.1~Host: a~~", "GET / http/1.1~Host: a~~",
			"GET / HTTP/1~Host: a~~", "GET / HTTP/11~Host: a~~", "G@T / HTTP/1.1~Host: a~~",
			"GET /\u00e9 HTTP/1.1~Host: a~~", "GET /\t HTTP/1.1~Host: a~~", "GET / HTTP/1.1~~",
			"GET / HTTP/1.1~Host: a~Host: b~~", "GET / HTTP/1.0~Host: a~Host: a~~", "GET / HTTP/1.0~Host~~",
			"GET / HTTP/1.0~Host : a~~", "GET / HTTP/1.0~: a~~", "GET / HTTP/1.0~X: a~ b~~", "GET / HTTP/1.0~X: a\0b~~",
			"GET / HTTP/1.0~X: a\rb~~", "GET / HTTP/1.0~X: \013a~~", "GET / HTTP/1.0~X: a\f~~",
			"GET / HTTP/1.0~X: a\r~~", "GET / HTTP/1.0~X: a\037~~", "GET / HTTP/1.0~X: a\177b~~" })
	void refusesWhatIsNoRequest(String head) {
		assertInvalid(() -> parse(head));
	}

	@ParameterizedTest
	@ValueSource(strings = { "HTTP/2.0", "HTTP/0.9", "HTTP/3.0" })
	void refusesOtherVersions(String version) {
		assertThatExceptionOfType(HttpException.class).isThrownBy(() -> parse("GET / " + version + "~Host: a~~"))
			.satisfies((ex) -> assertThat(ex.status()).isEqualTo(HttpStatus.VERSION_NOT_SUPPORTED));
	}

	@ParameterizedTest
	@ValueSource(strings = { "-1", "+1", "1,1", "0x1", "1 1", "''" })
	void refusesLengthThatIsNone(String length) {
		assertInvalid(() -> parse("GET / HTTP/1.0~Content-Length: " + length.replace("'", "") + "~~").contentLength());
	}

	@Test
	void refusesTwoLengths() {
		assertInvalid(() -> parse("GET / HTTP/1.0~Content-Length: 1~Transfer-Encoding: chunked~~").contentLength());
		assertInvalid(() -> parse("GET / HTTP/1.0~Content-Length: 1~Content-Length: 1~~").contentLength());
	}

	@ParameterizedTest
	@CsvSource({ "/, /", "/a/b.html, /a/b.html", "/a?b=/../c, /a", "/a?b=http://c/d, /a", "/%61%20b, /a b",
			"/%c3%a9, /\u00e9", "/a+b, /a+b", "http://localhost, /", "http://localhost:80/a?b, /a",
			"/../../etc/passwd, /../../etc/passwd", "/%2e%2e%2fetc, /../etc", "//a, //a" })
	void decodesPath(String target, String path) {
		assertThat(parse("GET " + target + " HTTP/1.0~~").path()).isEqualTo(path);
	}

	@ParameterizedTest
	@ValueSource(strings = { "*", "a", "localhost:80", "/%", "/%2", "/%zz", "?a" })
	void refusesTargetWithoutPath(String target) {
		assertInvalid(() -> parse("GET " + target + " HTTP/1.0~~").path());
	}

	@ParameterizedTest
	@CsvSource({ "HTTP/1.1, , true", "HTTP/1.1, close, false", "HTTP/1.1, 'Upgrade, CLOSE', false",
			"HTTP/1.1, keep-alive, true", "HTTP/1.0, , false", "HTTP/1.0, Keep-Alive, true", "HTTP/1.0, close, false",
			"HTTP/1.0, Upgrade, false", "HTTP/1.2, , true" })
	void knowsWhetherConnectionPersists(String version, String option, boolean persistent) {
		String field = (option != null) ? "Connection: " + option + "~" : "";
		assertThat(parse("GET / " + version + "~Host: a~" + field + "~").isPersistent()).isEqualTo(persistent);
	}

	private static HttpRequest parse(String head) {
		return HttpRequest.parse(head.replace("~", "\r\n"));
	}

	private static void assertInvalid(Runnable request) {
		assertThatExceptionOfType(HttpException.class).isThrownBy(request::run)
			.satisfies((ex) -> assertThat(ex.status()).isEqualTo(HttpStatus.BAD_REQUEST));
	}

}
