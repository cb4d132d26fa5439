package org.leaderfollowers.docs;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.LfHandler;

/**
 * A few commands of Redis, so that its tools can talk to a server.
 */
// tag::handler[]
@LfHandler(server = "redis")
class KeyValueHandler implements MessageHandler {

	private static final String UNKNOWN = "-ERR unknown command or wrong number of arguments\r\n";

	private final Map<String, String> values = new ConcurrentHashMap<>();

	@Override
	public void onMessage(Connection connection, ByteBuffer message) {
		byte[] request = new byte[message.remaining()];
		message.get(request);
		String reply = execute(words(new String(request, StandardCharsets.ISO_8859_1)));
		connection.send(ByteBuffer.wrap(reply.getBytes(StandardCharsets.ISO_8859_1)));
	}

	private String execute(List<String> words) {
		return switch (words.size()) {
			case 1 -> words.get(0).equalsIgnoreCase("PING") ? "+PONG\r\n" : UNKNOWN;
			case 2 -> read(words.get(0), words.get(1));
			case 3 -> words.get(0).equalsIgnoreCase("SET") ? set(words.get(1), words.get(2)) : UNKNOWN;
			default -> UNKNOWN;
		};
	}

	private String read(String command, String key) {
		if (command.equalsIgnoreCase("GET")) {
			return bulk(this.values.get(key));
		}
		return command.equalsIgnoreCase("INCR")
				? ":" + this.values.merge(key, "1", (value, one) -> Long.toString(Long.parseLong(value) + 1)) + "\r\n"
				: UNKNOWN;
	}

	private String set(String key, String value) {
		this.values.put(key, value);
		return "+OK\r\n";
	}

	private static String bulk(String value) {
		// Concatenated, because String.format would take longer than the rest of the
		// handler
		return (value != null) ? "$" + value.length() + "\r\n" + value + "\r\n" : "$-1\r\n";
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
