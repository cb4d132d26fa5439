package org.leaderfollowers.sample.web;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

import com.code_intelligence.jazzer.junit.FuzzTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.leaderfollowers.Framing.Frame;

import org.springframework.util.unit.DataSize;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Any bytes of a browser: requests and errors do not depend on how the input is split,
 * and no path leads out of the root directory.
 */
class HttpFuzzTests {

	private static final StaticFiles FILES = files();

	private static StaticFiles files() {
		try {
			Path root = Files.createDirectories(Files.createTempDirectory("fuzz").resolve("root"));
			Path file = Files.writeString(root.resolve("index.html"), "in the root");
			Path secret = Files.writeString(root.resolveSibling("secret.txt"), "secret");
			for (Path path : List.of(file, secret, root, root.getParent())) {
				path.toFile().deleteOnExit();
			}
			return new StaticFiles(new WebProperties(root.toUri().toString(), DataSize.ofKilobytes(64)));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/** Requests, from which the fuzzer begins, behind the size and the splits. */
	static Stream<byte[]> requests() {
		return Stream
			.of("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\r\nGET /index.html?q HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
					"POST http://a/%2e%2e/secret.txt HTTP/1.1\r\nhost: a\r\nContent-Length: 3\r\n\r\nabcGET /",
					"GET / HTTP/1.1\r\nHost: a\r\nIf-None-Match: \"a\", W/\"b\"\r\nTransfer-Encoding: chunked\r\n\r\n",
					"GET / HTTP/1.1\r\nHost: a\r\nIf-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n")
			.map((request) -> ("\u00ff\u0003" + request).getBytes(StandardCharsets.ISO_8859_1));
	}

	@MethodSource("requests")
	@FuzzTest
	void requestsDoNotDependOnTheSplits(byte[] input) {
		if (input.length < 2) {
			return;
		}
		int maxMessageSize = 1 + (input[0] & 0xFF);
		int piece = 1 + (input[1] & 0xFF);
		byte[] stream = Arrays.copyOfRange(input, 2, input.length);
		List<String> whole = decode(stream, Math.max(1, stream.length), maxMessageSize);
		assertThat(decode(stream, piece, maxMessageSize)).as("in pieces").isEqualTo(whole);
		assertThat(decode(stream, 1, maxMessageSize)).as("in single bytes").isEqualTo(whole);
	}

	/** Returns the requests, and why there are no more. */
	private static List<String> decode(byte[] stream, int piece, int maxMessageSize) {
		List<String> seen = new ArrayList<>();
		HttpFraming framing = new HttpFraming();
		ByteBuffer input = ByteBuffer.wrap(stream.clone()).limit(0);
		Frame frame = new Frame(maxMessageSize);
		try {
			while (input.limit() < stream.length) {
				input.limit(Math.min(stream.length, input.limit() + piece));
				while (input.hasRemaining() && framing.decode(input, frame)) {
					byte[] head = new byte[frame.payloadLength()];
					input.get(input.position() + frame.payloadOffset(), head);
					assertThat(frame.frameLength()).isBetween(1, Math.min(input.remaining(), maxMessageSize));
					seen.add(answer(new String(head, StandardCharsets.ISO_8859_1)));
					input.position(input.position() + frame.frameLength());
					frame = new Frame(maxMessageSize);
				}
				assertThat(input.remaining()).as("bytes that are kept").isLessThan(maxMessageSize);
			}
			seen.add("open");
		}
		catch (HttpException ex) {
			assertThat(ex.getMessage()).matches("[ -~]+");
			seen.add(ex.status() + ": " + ex.getMessage());
		}
		return seen;
	}

	private static String answer(String head) {
		HttpRequest request = HttpRequest.parse(head);
		StaticFile file;
		try {
			file = FILES.find(request.path());
		}
		catch (HttpException ex) {
			return head + " " + ex.getMessage();
		}
		if (file != null) {
			assertThat(file.content()).asString().isEqualTo("in the root");
			file.isKnownBy(request);
		}
		return head + " " + request.isPersistent() + " " + (file != null);
	}

}
