package org.leaderfollowers.spring.client;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.UnaryOperator;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.TcpServer;

/** A server of lines that clients connect to, with its own pool. */
public final class LinePeer implements MessageHandler, AutoCloseable {

	private final UnaryOperator<@Nullable String> answers;

	private final LeaderFollowersPool pool = LeaderFollowersPool.builder().name("peer").build();

	private final TcpServer server = TcpServer.builder(this.pool)
		.name("peer")
		.port(0)
		.framing(Framing.line())
		.handler(this)
		.build();

	public final Queue<Connection> connections = new ConcurrentLinkedQueue<>();

	public final Queue<String> received = new ConcurrentLinkedQueue<>();

	/**
	 * Starts a server.
	 * @param answers returns the reply to a line, or {@code null} for no reply
	 */
	public LinePeer(UnaryOperator<@Nullable String> answers) {
		this.answers = answers;
		this.server.start();
	}

	public String address() {
		return "127.0.0.1:" + this.server.port();
	}

	@Override
	public void onOpen(Connection connection) {
		this.connections.add(connection);
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) {
		String line = StandardCharsets.UTF_8.decode(message).toString();
		this.received.add(line);
		String answer = this.answers.apply(line);
		if (answer != null) {
			send(connection, answer);
		}
	}

	public static void send(Connection connection, String line) {
		connection.send(StandardCharsets.UTF_8.encode(line));
	}

	@Override
	public void close() {
		this.server.close(Duration.ZERO);
		this.pool.close();
	}

}
