package org.leaderfollowers;

import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;

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

}
