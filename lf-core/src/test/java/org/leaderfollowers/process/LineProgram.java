package org.leaderfollowers.process;

import java.io.Serializable;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;

import org.leaderfollowers.Connection;
import org.leaderfollowers.Engine;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.Server;
import org.leaderfollowers.ServerTls;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.internal.transport.Certificates;

/**
 * A server of lines that does what a line says, and sends any other line back.
 */
class LineProgram implements Program, MessageHandler {

	/**
	 * The reply to {@code large}, more than a socket takes, and more than half of the
	 * maximum outbound size.
	 */
	static final int LARGE = 600_000;

	static final int MAX_THREADS = 8;

	/** Passed by {@code wait}, by all with {@code release}. */
	private final Semaphore gate = new Semaphore(0);

	private final AtomicInteger waiting = new AtomicInteger();

	private LeaderFollowersPool pool;

	/** The same with TLS. */
	static class Tls extends LineProgram {

		@Override
		void configure(TcpServer.Builder builder) {
			builder.tls(ServerTls.of(Certificates.server()));
		}

		@Override
		public Serializable answer(String question) throws Exception {
			return question.equals("certificate") ? Certificates.CA.getRootCertificate() : super.answer(question);
		}

	}

	@Override
	public Server start() {
		LeaderFollowersPool.Builder pool = LeaderFollowersPool.builder()
			.threads(2, MAX_THREADS)
			.keepAlive(Duration.ofSeconds(1));
		configure(pool);
		// Otherwise the system takes megabytes for peers that do not read.
		this.pool = pool.build();
		TcpServer.Builder builder = TcpServer.builder(this.pool)
			.framing(Framing.line())
			.handler(this)
			.sendBufferSize(16_384);
		configure(builder);
		TcpServer server = builder.address(InetAddress.getLoopbackAddress()).port(0).build();
		server.start();
		return server;
	}

	void configure(LeaderFollowersPool.Builder builder) {
	}

	void configure(TcpServer.Builder builder) {
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) throws Exception {
		switch (Engine.text(message)) {
			case "wait" -> {
				this.waiting.incrementAndGet();
				try {
					this.gate.acquire();
				}
				finally {
					this.waiting.decrementAndGet();
				}
				connection.send(message);
			}
			case "large" -> connection.send(ByteBuffer.allocate(LARGE));
			case "bye" -> {
				connection.send(message);
				connection.close();
			}
			default -> connection.send(message);
		}
	}

	@Override
	public void onError(Connection connection, Throwable failure) throws Exception {
		// Resets are many, and the test looks for other lines of the log.
	}

	@Override
	public Serializable answer(String question) throws Exception {
		switch (question) {
			case "release" -> {
				this.gate.release(1_000_000);
				return true;
			}
			case "waiting" -> {
				return this.waiting.get();
			}
			case "unstarted" -> {
				return Engine.unstartedThreads(this.pool);
			}
			default -> throw new UnsupportedOperationException(question);
		}
	}

}
