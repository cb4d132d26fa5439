package org.leaderfollowers.process;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.lang.ref.WeakReference;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.leaderfollowers.Connection;
import org.leaderfollowers.Engine;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.Peer;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.process.ServerProcess.Baseline;

import static org.assertj.core.api.Assertions.assertThat;

/** Servers that are started and stopped while clients connect and send all the time. */
@Tag("stress")
@Timeout(600)
@EnabledOnOs(OS.LINUX)
class RestartTests {

	private static final int TIMES = 1000;

	/** How many servers run at the same time, each with clients of its own. */
	private static final int SERVERS = 8;

	/** How often each server is started and stopped without a word to the test. */
	private static final int TIMES_AT_ONCE = 5;

	/**
	 * Starts and stops servers, each time with a new pool, at addresses that no other
	 * program uses.
	 */
	private static final class Restarting extends LineProgram {

		private final List<WeakReference<LeaderFollowersPool>> pools = new ArrayList<>();

		private final AtomicLong handled = new AtomicLong();

		private final ArrayList<InetSocketAddress> addresses = new ArrayList<>();

		@Override
		public Serializable answer(String question) throws Exception {
			switch (question) {
				case "addresses" -> {
					reserveAddresses();
					return this.addresses;
				}
				case "restart" -> {
					return restartAll();
				}
				case "handled" -> {
					return this.handled.get();
				}
				case "pools" -> {
					System.gc();
					this.pools.removeIf((pool) -> pool.refersTo(null));
					return this.pools.size();
				}
				default -> {
					return super.answer(question);
				}
			}
		}

		/** The system chooses the ports. */
		private void reserveAddresses() throws IOException {
			byte[] random = new byte[2];
			ThreadLocalRandom.current().nextBytes(random);
			InetAddress address = InetAddress.getByAddress(new byte[] { 127, 4, random[0], random[1] });
			List<TcpServer> servers = new ArrayList<>();
			for (int i = 0; i < SERVERS; i++) {
				servers.add(server(new InetSocketAddress(address, 0), new CountDownLatch(1)));
				this.addresses.add(new InetSocketAddress(address, servers.get(i).port()));
			}
			servers.forEach((server) -> server.pool().close());
		}

		/** Returns how often a server was stopped completely. */
		private int restartAll() throws InterruptedException {
			AtomicInteger stopped = new AtomicInteger();
			List<Thread> threads = new ArrayList<>();
			for (InetSocketAddress address : this.addresses) {
				threads.add(new Thread(() -> {
					for (int i = 0; i < TIMES_AT_ONCE; i++) {
						stopped.addAndGet(restart(address) ? 1 : 0);
					}
				}));
			}
			threads.forEach(Thread::start);
			for (Thread thread : threads) {
				thread.join();
			}
			return stopped.get();
		}

		private boolean restart(InetSocketAddress address) {
			CountDownLatch served = new CountDownLatch(1);
			TcpServer server = server(address, served);
			try {
				served.await();
			}
			catch (InterruptedException ex) {
				throw new IllegalStateException(ex);
			}
			// Other messages are on their way now, and other clients connect.
			return server.pool().close(Engine.DEADLINE) && server.pool().snapshot().threads().isEmpty();
		}

		private TcpServer server(InetSocketAddress address, CountDownLatch served) {
			int sets = 1 + ThreadLocalRandom.current().nextInt(2);
			LeaderFollowersPool pool = LeaderFollowersPool.builder()
				.name("short")
				.threads(sets, 4)
				.handleSets(sets)
				.build();
			synchronized (this.pools) {
				this.pools.add(new WeakReference<>(pool));
			}
			TcpServer server = TcpServer.builder(pool)
				.address(address.getAddress())
				.port(address.getPort())
				.framing(Framing.line())
				.handler((connection, message) -> echo(connection, message, served))
				.build();
			server.start();
			return server;
		}

		private void echo(Connection connection, ByteBuffer message, CountDownLatch served) {
			boolean isAwaited = Engine.text(message).equals("awaited");
			connection.send(message);
			if (isAwaited) {
				this.handled.incrementAndGet();
				served.countDown();
			}
		}

	}

	private final AtomicBoolean ends = new AtomicBoolean();

	private final AtomicLong replies = new AtomicLong();

	@Test
	void aThousandStartsAndStopsUnderLoadLoseNoReplyAndLeaveNothing() throws Exception {
		try (ServerProcess server = ServerProcess.of(Restarting.class).start()) {
			List<Thread> clients = new ArrayList<>();
			for (Object address : (List<?>) server.ask("addresses")) {
				clients.add(new Thread(() -> ask((InetSocketAddress) address, 10, false)));
				clients.add(new Thread(() -> ask((InetSocketAddress) address, 1, true)));
			}
			clients.forEach(Thread::start);
			Baseline before;
			try {
				restart(server);
				before = server.baseline();
				for (int times = 0; times < TIMES; times += SERVERS * TIMES_AT_ONCE) {
					restart(server);
				}
			}
			finally {
				this.ends.set(true);
				for (Thread client : clients) {
					client.join();
				}
			}
			assertThat(server.ask("handled")).isEqualTo(this.replies.get());
			server.assertReturnedTo(before);
			Engine.eventually().untilAsserted(() -> assertThat(server.ask("pools")).isEqualTo(0));
		}
	}

	private static void restart(ServerProcess server) {
		assertThat(server.ask("restart")).as(server::output).isEqualTo(SERVERS * TIMES_AT_ONCE);
	}

	/** Connects again and again, and sends some messages each time. */
	private void ask(InetSocketAddress address, int messages, boolean resets) {
		while (!this.ends.get()) {
			try (Peer peer = new Peer(address, 0)) {
				boolean isOpen = true;
				for (int i = 0; i < messages && isOpen; i++) {
					isOpen = "awaited".equals(peer.send("awaited\n").readLine());
					if (isOpen) {
						this.replies.incrementAndGet();
					}
				}
				if (resets) {
					peer.send("x\nhalf of a mess").reset();
				}
			}
			catch (IOException | UncheckedIOException ex) {
				// The server is stopped.
			}
		}
	}

}
