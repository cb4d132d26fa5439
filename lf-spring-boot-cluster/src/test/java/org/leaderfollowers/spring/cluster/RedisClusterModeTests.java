package org.leaderfollowers.spring.cluster;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.entry;

/** The contract of the engine on a Redis Cluster, of one node. */
class RedisClusterModeTests extends AbstractClusterEngineTests {

	private static RedisServer redis;

	@BeforeAll
	static void startRedis() throws IOException {
		redis = new RedisServer().start("--cluster-enabled", "yes", "--cluster-port", String.valueOf(FreePort.find()));
		command("CLUSTER ADDSLOTSRANGE 0 16383", "+OK");
		eventually().untilAsserted(() -> command("CLUSTER INFO", "cluster_state:ok"));
	}

	private static void command(String command, String expected) throws IOException {
		try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), redis.port())) {
			socket.getOutputStream().write((command + "\r\nQUIT\r\n").getBytes(StandardCharsets.US_ASCII));
			assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII))
				.contains(expected);
		}
	}

	@AfterAll
	static void stopRedis() {
		if (redis != null) {
			redis.close();
		}
	}

	@Override
	ClusterEngine create(int index, String cluster) {
		RedisClusterConfiguration servers = new RedisClusterConfiguration(List.of("127.0.0.1:" + redis.port()));
		return new RedisClusterEngine(RedisConnections.forEngine(new LettuceConnectionFactory(servers)), cluster);
	}

	/** Renewals without an answer, as if a connection delivered nothing. */
	@Test
	void connectionsAreReplacedAsOftenAsNecessary() {
		ClusterEngine engine = createEngine(0);
		Inbox inbox = new Inbox();
		String id = engine.start("east", inbox);
		for (int round = 0; round < 2; round++) {
			int before = inbox.healings.get();
			eventually().until(() -> {
				for (int i = 0; i < 4; i++) {
					engine.renew(bytes("node"), LONG);
				}
				return inbox.healings.get() > before;
			});
			// Perhaps they are replaced once more.
			eventually().untilAsserted(() -> engine.renew(bytes("node"), LONG).get(1, TimeUnit.SECONDS));
		}
		get(engine.send(id, bytes("message")));
		eventually().until(() -> inbox.messages.containsKey("message"));
		assertThat(inbox.messages).containsOnly(entry("message", 1));
	}

	@Test
	void connectionsThatWorkAreNotReplaced() {
		ClusterEngine engine = createEngine(0);
		Inbox inbox = new Inbox();
		engine.start("east", inbox);
		for (int i = 0; i < 30; i++) {
			get(engine.renew(bytes("node"), LONG));
		}
		assertThat(inbox.healings).hasValue(0);
	}

	@Override
	boolean noticesStoppedNodes() {
		return false;
	}

}
