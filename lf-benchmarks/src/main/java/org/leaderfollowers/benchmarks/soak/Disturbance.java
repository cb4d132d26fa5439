package org.leaderfollowers.benchmarks.soak;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;

import org.leaderfollowers.benchmarks.attack.Attack;
import org.leaderfollowers.benchmarks.attack.Attacker;
import org.leaderfollowers.benchmarks.attack.Certificate;
import org.leaderfollowers.benchmarks.attack.HonestClient;
import org.leaderfollowers.benchmarks.attack.Tally;

/**
 * What happens to the servers of a soak, beside the honest clients. Each disturbance runs
 * in a thread of its own and ends when its time is over; then its connections are closed.
 * All of its connections come from the addresses of {@link Attacker}.
 */
enum Disturbance {

	/**
	 * Clients that send as fast as they can. An operator may close their connections, but
	 * their replies are checked, too.
	 */
	LOAD {

		@Override
		void run(Scene scene) throws InterruptedException {
			List<HonestClient> clients = new ArrayList<>();
			for (String server : scene.tcpServers()) {
				clients.add(new HonestClient(
						new HonestClient.Options("load-" + server, scene.servers.address(server), scene.address(),
								SoakProcess.wire(server), server.equals(SoakServer.TLS) ? Certificate.trustAll() : null,
								20, Duration.ofMillis(2), Duration.ofSeconds(60)),
						scene.tolerant));
			}
			scene.waitForEnd();
			clients.forEach(HonestClient::stop);
			clients.forEach(HonestClient::close);
		}

	},

	/** Handlers that throw, malformed input, messages that are broken off, resets. */
	ERRORS {

		@Override
		void run(Scene scene) throws InterruptedException {
			while (scene.goesOn(Duration.ofMillis(40))) {
				String server = scene.anyTcpServer();
				try (Socket socket = new Socket()) {
					socket.bind(new InetSocketAddress(scene.address(), 0));
					socket.connect(scene.servers.address(server), 1000);
					socket.setSoTimeout(1000);
					misbehave(socket, server, scene.random);
				}
				catch (IOException ex) {
					// The server has closed the connection, or does not accept now
				}
			}
		}

		private void misbehave(Socket socket, String server, Random random) throws IOException {
			OutputStream out = socket.getOutputStream();
			switch (random.nextInt(7)) {
				case 0 -> out.write(SoakProcess.wire(server).frame(bytes("Throw an exception")));
				case 1 -> out.write(SoakProcess.wire(server).frame(bytes("Error, please")));
				case 2 -> out.write(bytes("x".repeat(100_000)));
				case 3 -> out.write(new byte[] { -1, -1, -1, -1, 0, 1, 2, 3 });
				case 4 -> out.write(bytes("half a mess"));
				case 5 -> socket.setSoLinger(true, 0);
				default -> {
					out.write(SoakProcess.wire(server).frame(bytes("Large reply")));
					socket.setSoLinger(true, 0);
					return;
				}
			}
			socket.getInputStream().read();
		}

	},

	/** See {@link Attack#HANDSHAKES}. */
	HANDSHAKES {

		@Override
		void run(Scene scene) throws InterruptedException {
			scene.attack(Attack.HANDSHAKES, SoakServer.TLS, 60, 100);
		}

	},

	/** See {@link Attack#ENDLESS_MESSAGES}. */
	ENDLESS_MESSAGES {

		@Override
		void run(Scene scene) throws InterruptedException {
			scene.attack(Attack.ENDLESS_MESSAGES, scene.anyPlainServer(), 60, 100);
		}

	},

	/** See {@link Attack#SLOW_READERS}. */
	SLOW_READERS {

		@Override
		void run(Scene scene) throws InterruptedException {
			scene.attack(Attack.SLOW_READERS, scene.anyPlainServer(), 16, 50);
		}

	},

	/** See {@link Attack#CONNECTION_FLOOD}. */
	CONNECTION_FLOOD {

		@Override
		void run(Scene scene) throws InterruptedException {
			scene.attack(Attack.CONNECTION_FLOOD, scene.anyTcpServer(), 100, 300);
		}

	},

	/** The pool gets fewer and more threads. */
	RESIZING {

		@Override
		void run(Scene scene) throws IOException, InterruptedException {
			while (scene.goesOn(Duration.ofMillis(500))) {
				int min = 1 + scene.random.nextInt(4);
				scene.servers.ask("resize " + min + " " + (min + 2 + scene.random.nextInt(SoakServer.MAX_THREADS)));
			}
			scene.servers.ask("resize " + SoakServer.MIN_THREADS + " " + SoakServer.MAX_THREADS);
		}

	},

	/** Servers stop and start to accept. */
	PAUSING {

		@Override
		void run(Scene scene) throws IOException, InterruptedException {
			while (scene.goesOn(Duration.ofMillis(300))) {
				String server = scene.random.nextInt(5) == 0 ? SoakServer.UDP : scene.anyTcpServer();
				scene.servers.ask("pause " + server);
				TimeUnit.MILLISECONDS.sleep(scene.random.nextInt(500));
				scene.servers.ask("resume " + server);
			}
		}

	},

	/** The certificate is replaced. */
	RELOADING {

		@Override
		void run(Scene scene) throws IOException, InterruptedException {
			while (scene.goesOn(Duration.ofMillis(700))) {
				scene.servers.ask("reload");
			}
		}

	},

	/** An operator closes connections, never those of honest clients. */
	CLOSING {

		@Override
		void run(Scene scene) throws IOException, InterruptedException {
			while (scene.goesOn(Duration.ofMillis(300))) {
				scene.servers.ask("close " + (1 + scene.random.nextInt(5)));
			}
		}

	};

	abstract void run(Scene scene) throws IOException, InterruptedException;

	private static byte[] bytes(String text) {
		return text.getBytes(StandardCharsets.US_ASCII);
	}

	/**
	 * What a disturbance needs, for one run in one thread.
	 *
	 * @param servers the servers
	 * @param random chooses; of this run alone
	 * @param endNanos when the disturbance ends
	 * @param timeout how long a client waits
	 * @param tolerant counts for clients whose connections may be closed
	 */
	record Scene(SoakProcess servers, Random random, long endNanos, Duration timeout, Tally tolerant) {

		boolean goesOn(Duration pause) throws InterruptedException {
			TimeUnit.NANOSECONDS.sleep(Math.min(pause.toNanos(), Math.max(0, this.endNanos - System.nanoTime())));
			return this.endNanos - System.nanoTime() > 0;
		}

		void waitForEnd() throws InterruptedException {
			TimeUnit.NANOSECONDS.sleep(Math.max(0, this.endNanos - System.nanoTime()));
		}

		void attack(Attack attack, String server, int connections, int perSecond) throws InterruptedException {
			try (Attacker attacker = new Attacker(new Attacker.Options(attack, this.servers.address(server),
					SoakProcess.wire(server), connections, perSecond, 100))) {
				waitForEnd();
			}
		}

		InetAddress address() {
			return Attacker.address(this.random.nextInt(100));
		}

		List<String> tcpServers() {
			return List.of(SoakServer.LINES, SoakServer.LENGTHS, SoakServer.TLS, SoakServer.BLOCKING, SoakServer.RELAY);
		}

		String anyTcpServer() {
			return tcpServers().get(this.random.nextInt(5));
		}

		String anyPlainServer() {
			return List.of(SoakServer.LINES, SoakServer.LENGTHS, SoakServer.BLOCKING).get(this.random.nextInt(3));
		}

	}

}
