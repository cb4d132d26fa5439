package org.leaderfollowers.docs;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.LfHandler;

/**
 * A few commands of Redis, so that its tools can talk to a server with a framing of its
 * own.
 */
// tag::handler[]
@LfHandler(server = "redis")
class KeyValueHandler implements MessageHandler {

	private final Map<String, String> values = new ConcurrentHashMap<>();

	@Override
	public void onMessage(Connection connection, ByteBuffer message) {
		String reply = execute(words(StandardCharsets.ISO_8859_1.decode(message).toString()));
		connection.send(StandardCharsets.ISO_8859_1.encode(reply));
	}

	private String execute(List<String> words) {
		String command = words.isEmpty() ? "" : words.get(0).toUpperCase(Locale.ROOT);
		return switch (command + "/" + words.size()) {
			case "PING/1" -> "+PONG\r\n";
			case "GET/2" -> bulk(this.values.get(words.get(1)));
			case "SET/3" -> {
				this.values.put(words.get(1), words.get(2));
				yield "+OK\r\n";
			}
			case "INCR/2" ->
				":" + this.values.merge(words.get(1), "1", (value, one) -> Long.toString(Long.parseLong(value) + 1))
						+ "\r\n";
			default -> "-ERR unknown command or wrong number of arguments\r\n";
		};
	}

	private static String bulk(String value) {
		return (value != null) ? "$%d\r\n%s\r\n".formatted(value.length(), value) : "$-1\r\n";
	}

	private static List<String> words(String request) {
		if (!request.startsWith("*")) {
			return List.of(request.strip().split(" +"));
		}
		List<String> words = new ArrayList<>();
		for (int at = request.indexOf('$'); at >= 0; at = request.indexOf('$', at)) {
			int text = request.indexOf('\n', at) + 1;
			int length = Integer.parseInt(request, at + 1, text - 2, 10);
			words.add(request.substring(text, text + length));
			at = text + length;
		}
		return words;
	}

}
// end::handler[]
