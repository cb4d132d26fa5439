package org.leaderfollowers.process;

import java.io.Serializable;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Duration;

import org.leaderfollowers.Connection;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.Server;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.UdpServer;

/** A server that sends each datagram back. */
class DatagramProgram implements Program, MessageHandler {

	private UdpServer server;

	@Override
	public Server start() {
		LeaderFollowersPool pool = LeaderFollowersPool.builder().threads(2, 8).keepAlive(Duration.ofSeconds(1)).build();
		this.server = UdpServer.builder(pool)
			.address(InetAddress.getLoopbackAddress())
			.port(0)
			.maxMessageSize(1000)
			.handler(this)
			.build();
		this.server.start();
		return this.server;
	}

	@Override
	public void onMessage(Connection datagram, ByteBuffer message) {
		datagram.send(message);
	}

	@Override
	public Serializable answer(String question) {
		ServerSnapshot.Datagrams datagrams = this.server.snapshot().datagrams();
		return switch (question) {
			case "in flight" -> datagrams.inFlight();
			case "truncated" -> datagrams.truncated();
			default -> throw new UnsupportedOperationException(question);
		};
	}

}
