package org.leaderfollowers.spring.actuate;

import java.net.http.HttpResponse;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link SessionsEndpoint}, over HTTP.
 */
class SessionsEndpointTests {

	private static OperatedApplication application;

	@BeforeAll
	static void run() {
		application = OperatedApplication.run("--management.endpoints.web.exposure.include=lfsessions");
	}

	@AfterAll
	static void close() {
		application.close();
	}

	@Test
	void showsThisNode() throws Exception {
		HttpResponse<String> response = application.get("/actuator/lfsessions?size=0");
		assertThat(response.statusCode()).isEqualTo(200);
		assertThat(response.body()).contains("\"node\":\"local\"", "\"sessions\":[]");
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
			?size=-1  | 400 | 'size' must be from 0 to 500, but is '-1'
			?size=all | 400 | 'size' must be a whole number, but is 'all'
			/reader-7 | 404 | There is no such session
			/%20      | 404 | There is no such session
			/%0a      | 404 | There is no such session
			""")
	void tellsWhyARequestIsRefused(String request, int status, String reason) throws Exception {
		HttpResponse<String> response = application.get("/actuator/lfsessions" + request);
		assertThat(response.statusCode()).isEqualTo(status);
		assertThat(response.body()).isEqualTo("{\"reason\":\"%s\"}", reason);
	}

}
