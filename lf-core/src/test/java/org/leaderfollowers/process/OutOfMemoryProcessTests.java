package org.leaderfollowers.process;

import java.io.Serializable;
import java.io.UncheckedIOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.leaderfollowers.Connection;
import org.leaderfollowers.Engine;
import org.leaderfollowers.Framing;
import org.leaderfollowers.Peer;
import org.leaderfollowers.Server;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.process.ServerProcess.Baseline;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A process uses up its heap: in a handler, or while a message is decoded or encoded.
 * Afterwards each connection is served or closed, new clients are served, and the process
 * ends in good order.
 */
@Timeout(300)
@EnabledOnOs(OS.LINUX)
class OutOfMemoryProcessTests {

	private static final int PEERS = 8;

	private static final int ROUNDS = 5;

	static final Duration STORM = Duration.ofSeconds(10);

	private static final int GRACE_SECONDS = 20;

	/** Uses up the heap at the place that a line names. */
	private static final class Hungry extends LineProgram {

		/** Begins the storm in a thread of the application. */
		private final CountDownLatch begun = new CountDownLatch(1);

		private final Thread thread = new Thread(this::storm, "hungry");

		private Server server;

		@Override
		public Server start() {
			Server server = super.start();
			this.server = server;
			Runtime.getRuntime().addShutdownHook(new Thread(() -> {
				boolean complete = server.close(Duration.ofSeconds(GRACE_SECONDS));
				System.out.println(complete ? "closed in time" : "not closed in time");
			}));
			this.thread.setDaemon(true);
			this.thread.start();
			return server;
		}

		@Override
		void configure(TcpServer.Builder builder) {
			builder.framing(new HungryLines());
		}

		@Override
		public Serializable answer(String question) {
			if (question.equals("lost")) {
				return Engine.lostSockets(this.server);
			}
			if (question.equals("calm")) {
				return !this.thread.isAlive();
			}
			// Asked again if the storm leaves no memory for the answer.
			this.begun.countDown();
			return true;
		}

		private void storm() {
			try {
				this.begun.await();
			}
			catch (InterruptedException ex) {
				return;
			}
			long end = System.nanoTime() + STORM.toNanos();
			while (System.nanoTime() - end < 0) {
				try {
					useUp(end);
				}
				catch (OutOfMemoryError ex) {
					// And again.
				}
			}
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) throws Exception {
			if (Engine.text(message).equals("handle")) {
				useUp(System.nanoTime());
			}
			super.onMessage(connection, message);
		}

		/**
		 * Fails when nothing is left, and releases everything.
		 * @param end keeps the heap full until then
		 */
		private static void useUp(long end) {
			Object[] kept = null;
			int size = 1 << 20;
			// While others fill the heap too, the last bytes may take a minute.
			long limit = System.nanoTime() + STORM.toNanos();
			while (true) {
				try {
					kept = new Object[] { kept, new byte[size] };
				}
				catch (OutOfMemoryError ex) {
					size /= 2;
					if (size < 16 || System.nanoTime() - limit >= 0) {
						if (System.nanoTime() - end >= 0) {
							throw ex;
						}
						size = 1 << 10;
					}
				}
			}
		}

		/** Lines, of which some use up the heap. */
		private static final class HungryLines implements Framing {

			private final Framing lines = Framing.line();

			@Override
			public boolean decode(ByteBuffer input, Frame frame) {
				if (input.hasRemaining() && input.get(input.position()) == 'd') {
					useUp(System.nanoTime());
				}
				return this.lines.decode(input, frame);
			}

			@Override
			public void encode(ByteBuffer payload, ByteBuffer output) {
				if (payload.hasRemaining() && payload.get(payload.position()) == 'e') {
					useUp(System.nanoTime());
				}
				this.lines.encode(payload, output);
			}

			@Override
			public int maxFrameLength(int payloadLength) {
				return this.lines.maxFrameLength(payloadLength);
			}

			@Override
			public String toString() {
				return this.lines.toString();
			}

		}

	}

	static ServerProcess start(String collector) {
		return ServerProcess.of(Hungry.class).jvm("-XX:-UseSerialGC", "-XX:+Use" + collector).start();
	}

	@Test
	void oneHandlerUsesUpTheHeap() throws Exception {
		try (ServerProcess server = start("SerialGC")) {
			Baseline before = server.baseline();
			for (int i = 0; i < ROUNDS; i++) {
				assertThat(converse(server, "handle")).as(server::output).isTrue();
			}
			assertRecovered(server, before);
		}
	}

	static Stream<Arguments> storms() {
		return Stream.of("handle", "decode", "encode")
			.flatMap((place) -> Stream.of(Arguments.of(place, "SerialGC"), Arguments.of(place, "G1GC")));
	}

	@Tag("stress")
	@ParameterizedTest
	@MethodSource("storms")
	void manyUseUpTheHeapAgainAndAgain(String place, String collector) throws Exception {
		try (ServerProcess server = start(collector)) {
			Baseline before = server.baseline();
			converseUntil(System.nanoTime() + STORM.toNanos(), server, place);
			assertRecovered(server, before);
		}
	}

	/** Many clients. When the calm begins, each is served or closed. */
	static void converseUntil(long end, ServerProcess server, String line) throws Exception {
		ExecutorService clients = Executors.newFixedThreadPool(PEERS);
		try {
			AtomicLong conversations = new AtomicLong();
			AtomicInteger unanswered = new AtomicInteger();
			Callable<@Nullable Void> client = () -> {
				while (System.nanoTime() - end < 0) {
					if (converse(server, line)) {
						conversations.incrementAndGet();
					}
					else {
						unanswered.incrementAndGet();
					}
				}
				return null;
			};
			List<Future<@Nullable Void>> all = new ArrayList<>();
			for (int i = 0; i < PEERS; i++) {
				all.add(clients.submit(client));
			}
			for (Future<?> one : all) {
				one.get();
			}
			assertThat(conversations).as(server::output).hasPositiveValue();
			if (unanswered.get() > 0) {
				// The JDK may lose a socket that it accepts.
				int lost = (int) server.ask("lost");
				assertThat(unanswered).as("neither served nor closed: %s", server.output())
					.hasValueLessThanOrEqualTo(lost);
			}
		}
		finally {
			clients.shutdownNow();
		}
	}

	/**
	 * Sends a line, and then one that costs nothing, unless the server closes.
	 * @return whether the client was served or closed
	 */
	private static boolean converse(ServerProcess server, String line) {
		try (Peer peer = server.connect()) {
			if (peer.send(line + "\n").readLine() != null) {
				peer.send("still\n").readLine();
			}
			return true;
		}
		catch (UncheckedIOException ex) {
			return !(ex.getCause() instanceof SocketTimeoutException);
		}
	}

	static void assertRecovered(ServerProcess server, Baseline before) throws Exception {
		server.assertReturnedTo(before);
		server.signal("TERM");
		assertThat(server.process().waitFor(2 * GRACE_SECONDS, TimeUnit.SECONDS)).as(server::output).isTrue();
		assertThat(server.output()).contains("closed in time").doesNotContain("not closed in time");
	}

}
