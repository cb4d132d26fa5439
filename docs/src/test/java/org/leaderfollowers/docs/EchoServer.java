package org.leaderfollowers.docs;

import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.TcpServer;

final class EchoServer {

	private EchoServer() {
	}

	static TcpServer start(int port) {
		// tag::main[]
		LeaderFollowersPool pool = LeaderFollowersPool.builder().name("demo").threads(2, 64).build();
		TcpServer server = TcpServer.builder(pool)
			.port(port)
			.framing(Framing.line())
			.handler((connection, message) -> connection.send(message))
			.build();
		server.start();
		// end::main[]
		return server;
	}

}
