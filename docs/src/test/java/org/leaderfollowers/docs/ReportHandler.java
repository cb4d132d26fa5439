package org.leaderfollowers.docs;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;

import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.LfHandler;

// tag::handler[]
@LfHandler(server = "reports")
class ReportHandler implements MessageHandler {

	private final Map<Connection, Queue<Iterator<String>>> reports = new ConcurrentHashMap<>();

	@Override
	public void onMessage(Connection connection, ByteBuffer message) {
		int rows = Integer.parseInt(StandardCharsets.UTF_8.decode(message).toString());
		Iterator<String> report = IntStream.rangeClosed(1, rows).mapToObj((row) -> "row " + row).iterator();
		reportsFor(connection).add(report);
		stream(connection);
	}

	@Override
	public void onWritable(Connection connection) {
		stream(connection);
	}

	@Override
	public void onClose(Connection connection, CloseReason reason) {
		this.reports.remove(connection);
	}

	private void stream(Connection connection) {
		Queue<Iterator<String>> reports = reportsFor(connection);
		int rows = 0;
		while (!reports.isEmpty() && connection.isWritable()) {
			if (rows++ == 100 && connection.requestWritable()) {
				return;
			}
			Iterator<String> report = reports.element();
			if (report.hasNext()) {
				connection.send(StandardCharsets.UTF_8.encode(report.next()));
			}
			else {
				reports.remove();
			}
		}
	}

	private Queue<Iterator<String>> reportsFor(Connection connection) {
		return this.reports.computeIfAbsent(connection, (key) -> new ArrayDeque<>());
	}

}
// end::handler[]
