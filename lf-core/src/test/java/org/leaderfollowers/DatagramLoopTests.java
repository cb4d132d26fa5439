package org.leaderfollowers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.SocketException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import static org.assertj.core.api.Assertions.assertThat;

/** Servers that would answer each other for ever. */
class DatagramLoopTests {

	@RegisterExtension
	final Engine engine = new Engine();

	@Test
	void oneForgedDatagramDoesNotKeepTwoServersBusy() throws Exception {
		InetAddress loopback = InetAddress.getLoopbackAddress();
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		CountDownLatch received = new CountDownLatch(1);
		CountDownLatch gate = this.engine.gate();
		AtomicBoolean first = new AtomicBoolean(true);
		UdpServer one = this.engine.start(UdpServer.builder(pool).handler((datagram, message) -> {
			if (first.getAndSet(false)) {
				received.countDown();
				Engine.pass(gate);
			}
			datagram.send(message);
		}));
		int port;
		// In the name of the server that is bound to the port next.
		try (DatagramSocket forger = new DatagramSocket(0, loopback)) {
			port = forger.getLocalPort();
			forger.send(new DatagramPacket(new byte[1], 1, loopback, one.port()));
			Engine.pass(received);
		}
		UdpServer other = UdpServer.builder(pool)
			.address(loopback)
			.port(port)
			.handler((datagram, message) -> datagram.send(message))
			.build();
		other.start();
		gate.countDown();
		Engine.eventually().until(() -> other.snapshot().datagrams().rejected() == 1);
		assertThat(other.snapshot().receivedMessages()).isZero();
		assertThat(one.snapshot().receivedMessages()).isOne();
		other.close();
		try (DatagramSocket client = new DatagramSocket(port, loopback)) {
			client.setSoTimeout((int) Engine.DEADLINE.toMillis());
			client.send(new DatagramPacket(new byte[1], 1, loopback, one.port()));
			client.receive(new DatagramPacket(new byte[1], 1));
		}
	}

	@Test
	void aLoopWithAServerOfAnotherProcessEnds() throws Exception {
		AtomicInteger sent = new AtomicInteger();
		UdpServer server = this.engine
			.start(UdpServer.builder(this.engine.pool(2, 4)).maxReplyRate(1).handler((datagram, message) -> {
				datagram.send(message);
				sent.incrementAndGet();
			}));
		InetAddress loopback = InetAddress.getLoopbackAddress();
		AtomicInteger answered = new AtomicInteger();
		CompletableFuture<Void> echo;
		// The engine does not know this socket, as if it belonged to another process.
		try (DatagramSocket other = new DatagramSocket(0, loopback)) {
			echo = CompletableFuture.runAsync(() -> echo(other, answered), (task) -> new Thread(task).start());
			other.send(new DatagramPacket(new byte[1], 1, loopback, server.port()));
			Engine.eventually().until(() -> server.snapshot().datagrams().limitedReplies() > 0);
			// One datagram goes round, and the server has answered it for the last time.
			Engine.eventually().until(() -> server.snapshot().datagrams().inFlight() == 0);
			ServerSnapshot.Datagrams datagrams = server.snapshot().datagrams();
			assertThat(datagrams.limitedReplies()).isOne();
			assertThat(datagrams.sentReplies()).isEqualTo(answered.get()).isGreaterThanOrEqualTo(10);
			assertThat(server.snapshot().receivedMessages()).isEqualTo(answered.get() + 1);
			assertThat(sent.get()).as("handlers that did not fail").isEqualTo(answered.get() + 1);
			assertThat(this.engine.log()).filteredOn((line) -> line.contains("maxReplyRate"))
				.singleElement()
				.satisfies((line) -> assertThat(line).startsWith("WARN Server 'default' drops replies"));
			try (DatagramPeer client = new DatagramPeer(server)) {
				assertThat(client.ask("still served")).isEqualTo("still served");
			}
		}
		echo.join();
	}

	private static void echo(DatagramSocket socket, AtomicInteger answered) {
		try {
			while (true) {
				DatagramPacket packet = new DatagramPacket(new byte[1], 1);
				socket.receive(packet);
				answered.incrementAndGet();
				socket.send(packet);
			}
		}
		catch (SocketException ex) {
			// The socket is closed: the test is over.
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
