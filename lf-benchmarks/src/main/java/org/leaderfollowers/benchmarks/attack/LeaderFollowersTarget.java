package org.leaderfollowers.benchmarks.attack;

import java.io.IOException;
import java.net.InetAddress;

import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.ServerTls;
import org.leaderfollowers.TcpServer;

/** This engine with its defaults. */
final class LeaderFollowersTarget {

	private LeaderFollowersTarget() {
	}

	static String start(Certificate certificate) throws IOException {
		LeaderFollowersPool pool = LeaderFollowersPool.builder().name("target").build();
		TcpServer plain = server(pool).name("plain").build();
		TcpServer tls = server(pool).name("tls").tls(ServerTls.of(certificate.serverContext())).build();
		plain.start();
		tls.start();
		return plain.port() + " " + tls.port();
	}

	private static TcpServer.Builder server(LeaderFollowersPool pool) {
		return TcpServer.builder(pool)
			.address(InetAddress.getLoopbackAddress())
			.port(0)
			.framing(Framing.line())
			.handler((connection, message) -> connection.send(message));
	}

}
