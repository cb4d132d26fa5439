package org.leaderfollowers;

import java.lang.management.ManagementFactory;
import java.net.InetAddress;

import com.sun.management.OperatingSystemMXBean;

/**
 * A server in its own process, to be started with few descriptors. It prints its port,
 * prints when it is suspended, and answers questions.
 */
final class SuspendedServer {

	private SuspendedServer() {
	}

	/** After so many messages the engine has learned that the handler does not block. */
	private static final int KNOWN_TO_BE_SHORT = 2000;

	public static void main(String[] args) throws Exception {
		OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
		LeaderFollowersPool pool = LeaderFollowersPool.builder().threads(2, 4).build();
		TcpServer[] self = new TcpServer[1];
		TcpServer server = TcpServer.builder(pool)
			.address(InetAddress.getLoopbackAddress())
			.port(0)
			.framing(Framing.line())
			.handler((connection, message) -> {
				String question = Engine.text(message);
				connection.send(Engine.bytes(switch (question) {
					case "cpu" -> "" + system.getProcessCpuTime() / 1_000_000;
					case "open" -> "" + self[0].snapshot().openConnections();
					case "suspended" -> "" + self[0].snapshot().acceptingSuspended();
					default -> question;
				}));
			})
			.build();
		self[0] = server;
		server.start();
		// Loads the classes that are needed to answer, with and without a promotion, and
		// to close a connection, while there are descriptors for it.
		try (Peer peer = new Peer(server.address(), 0)) {
			for (String question : new String[] { "cpu", "open", "suspended" }) {
				peer.send(question + "\n").readLine();
			}
			for (int i = 0; i < KNOWN_TO_BE_SHORT; i++) {
				peer.send("\n").readLine();
			}
		}
		Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
		System.out.println("port " + server.port());
		Engine.eventually().until(() -> server.snapshot().acceptingSuspended());
		System.out.println("suspended");
	}

}
