package org.leaderfollowers.docs;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.context.TypeExcludeFilter;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.filter.annotation.TypeExcludeFilters;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ComponentScan;
import org.springframework.context.annotation.FilterType;
import org.springframework.core.type.classreading.MetadataReader;
import org.springframework.core.type.classreading.MetadataReaderFactory;

import static org.assertj.core.api.Assertions.assertThat;

/** The examples of the guide behave as the guide says. */
@TypeExcludeFilters(SnippetTests.OtherPackages.class)
@SpringBootTest(properties = {
		"spring.config.import=classpath:further-server.yaml,classpath:redis.yaml,classpath:load-balancer.yaml",
		"lf.servers.redis.port=0", "lf.servers.terminals.port=0",
		"lf.servers.terminals.proxy-protocol.trusted-networks=127.0.0.0/8", "lf.server.port=0",
		"lf.servers.orders.port=0", "lf.servers.quotes.port=0", "lf.servers.quotes.max-outbound-size=64KB",
		"lf.servers.reports.port=0", "lf.servers.reports.max-outbound-size=64KB", "lf.servers.lookups.port=0",
		"lf.servers.lookups.pool=lookups", "lf.pools.lookups.threads.min=2", "lf.pools.lookups.promotion.lease=1m" },
		classes = SnippetTests.Application.class)
class SnippetTests {

	private static final int TIMEOUT_MILLIS = 30_000;

	/** More than the buffers of the system hold. */
	private static final int QUOTES = 20_000;

	/** More than the buffers of the system hold. */
	private static final int ROWS = 500_000;

	private static final int LESSONS = 1000;

	@Test
	void upperCaseHandlerAnswersInUpperCase(@Value("${local.lf.server.port}") int port) throws IOException {
		assertThat(exchange(port, "hello\n", 6)).isEqualTo("HELLO\n");
	}

	@Test
	void echoServerEchoes() throws IOException {
		TcpServer server = EchoServer.start(0);
		try (LeaderFollowersPool pool = server.pool()) {
			assertThat(pool.name()).isEqualTo("demo");
			assertThat(exchange(server.port(), "hello\n", 6)).isEqualTo("hello\n");
		}
	}

	@Test
	void ownFramingTellsMessagesApart(@Value("${local.lf.servers.devices.port}") int port) throws IOException {
		assertThat(exchange(port, "\u0002a\u0003\u0002bc\u0003", 7)).isEqualTo("\u0002a\u0003\u0002bc\u0003");
		assertThat(exchange(port, "a", 1)).as("refused").isEmpty();
	}

	@Test
	void toolsOfRedisAreUnderstood(@Value("${local.lf.servers.redis.port}") int port) throws IOException {
		String request = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\nv\r\n$\r\nget k\r\n*2\r\n$4\r\nincr\r\n$1\r\nn\r\n*1\r\n$3\r\nfoo\r\n";
		String reply = "+OK\r\n$4\r\nv\r\n$\r\n:1\r\n-ERR unknown command or wrong number of arguments\r\n";
		assertThat(exchange(port, request, reply.length())).isEqualTo(reply);
		assertThat(exchange(port, "*1\r\nPING\r\n", 1)).as("refused").isEmpty();
		assertThat(exchange(port, "*1\r\n$2000000\r\n", 1)).as("too large").isEmpty();
	}

	@Test
	void furtherServerHasItsOwnFraming(@Value("${local.lf.servers.orders.port}") int port) throws IOException {
		assertThat(exchange(port, "\u0000\u0002ab", 4)).isEqualTo("\u0000\u0002ab");
	}

	@Test
	void serverBehindALoadBalancerKnowsItsClients(@Value("${local.lf.servers.terminals.port}") int port)
			throws IOException {
		String reply = "You are 203.0.113.9, and came through 127.0.0.1\n";
		assertThat(exchange(port, "PROXY TCP4 203.0.113.9 198.51.100.1 40000 7070\r\nwho?\n", reply.length()))
			.isEqualTo(reply);
		assertThat(exchange(port, "who?\n", 1)).as("without a header").isEmpty();
	}

	@Test
	void subscriberThatFellBehindGetsTheLatestQuote(@Value("${local.lf.servers.quotes.port}") int port,
			@Autowired QuoteHandler handler) throws IOException {
		try (Socket socket = connectSlowly(port)) {
			BufferedReader reader = reader(socket);
			send(socket, "?\n");
			assertThat(reader.readLine()).isEqualTo("none yet");
			String outdated = "x".repeat(1000);
			for (int i = 0; i < QUOTES; i++) {
				handler.publish(outdated);
			}
			handler.publish("latest");
			int count = 0;
			String line = reader.readLine();
			while (outdated.equals(line)) {
				count++;
				line = reader.readLine();
			}
			assertThat(line).isEqualTo("latest");
			assertThat(count).isPositive().isLessThan(QUOTES);
		}
	}

	@Test
	void reportIsStreamedToAPeerThatReadsSlowly(@Value("${local.lf.servers.reports.port}") int port,
			@Autowired LeaderFollowersServers servers, @Autowired LeaderFollowersPools pools) throws IOException {
		try (Socket socket = connectSlowly(port)) {
			send(socket, ROWS + "\n");
			Awaitility.await()
				.atMost(Duration.ofSeconds(120))
				.until(() -> servers.get("reports").snapshot().sentBytes() > 0 && pools.get("default")
					.snapshot()
					.threads()
					.stream()
					.allMatch((thread) -> thread.handle() == null));
			BufferedReader reader = reader(socket);
			int rows = 0;
			while (rows < ROWS && ("row " + (rows + 1)).equals(reader.readLine())) {
				rows++;
			}
			assertThat(rows).isEqualTo(ROWS);
			send(socket, "2\n1\n");
			assertThat(reader.readLine()).isEqualTo("row 1");
			assertThat(reader.readLine()).isEqualTo("row 2");
			assertThat(reader.readLine()).isEqualTo("row 1");
		}
	}

	@Test
	void nobodyWaitsForALookup(@Value("${local.lf.servers.lookups.port}") int port, @Autowired SlowDirectory directory)
			throws Exception {
		try (Socket slow = connectSlowly(port); Socket fast = connectSlowly(port)) {
			BufferedReader slowReader = reader(slow);
			BufferedReader fastReader = reader(fast);
			// Until the engine has learned that the handler is short.
			for (int i = 0; i < LESSONS; i++) {
				send(slow, "known\n");
				assertThat(slowReader.readLine()).isEqualTo("value of known");
			}
			send(slow, SlowDirectory.SLOW + "\n");
			assertThat(directory.asked.await(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS)).isTrue();
			send(fast, "known\n");
			assertThat(fastReader.readLine()).isEqualTo("value of known");
			directory.answers.countDown();
			assertThat(slowReader.readLine()).isEqualTo("value of " + SlowDirectory.SLOW);
		}
		finally {
			directory.answers.countDown();
		}
	}

	private static Socket connectSlowly(int port) throws IOException {
		Socket socket = new Socket();
		// So small that the server has to wait for this client.
		socket.setReceiveBufferSize(8192);
		socket.setSoTimeout(TIMEOUT_MILLIS);
		socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), TIMEOUT_MILLIS);
		return socket;
	}

	private static BufferedReader reader(Socket socket) throws IOException {
		return new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
	}

	private static void send(Socket socket, String text) throws IOException {
		socket.getOutputStream().write(text.getBytes(StandardCharsets.UTF_8));
	}

	private static String exchange(int port, String request, int replyLength) throws IOException {
		try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
			socket.setSoTimeout(TIMEOUT_MILLIS);
			socket.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
			InputStream input = socket.getInputStream();
			return new String(input.readNBytes(replyLength), StandardCharsets.UTF_8);
		}
	}

	/** Leaves out the interfaces of clients, which have a test of their own. */
	static class OtherPackages extends TypeExcludeFilter {

		@Override
		public boolean match(MetadataReader metadataReader, MetadataReaderFactory metadataReaderFactory) {
			return metadataReader.getClassMetadata()
				.getClassName()
				.startsWith(SnippetTests.class.getPackageName() + ".clients.");
		}

		@Override
		public boolean equals(Object other) {
			return other instanceof OtherPackages;
		}

		@Override
		public int hashCode() {
			return OtherPackages.class.hashCode();
		}

	}

	@SpringBootConfiguration
	@EnableAutoConfiguration
	// Packages below this one have tests of their own.
	@ComponentScan(excludeFilters = @ComponentScan.Filter(type = FilterType.REGEX,
			pattern = "org\\.leaderfollowers\\.docs\\.[a-z]+\\..*"))
	static class Application {

		@Bean
		@LfHandler(server = "orders")
		MessageHandler orders() {
			return (connection, message) -> connection.send(message);
		}

		@Bean
		SlowDirectory directory() {
			return new SlowDirectory();
		}

	}

	/** Knows every key, and needs a long time for one of them. */
	static class SlowDirectory implements UnaryOperator<String> {

		private static final String SLOW = "slow";

		private final CountDownLatch asked = new CountDownLatch(1);

		private final CountDownLatch answers = new CountDownLatch(1);

		@Override
		public String apply(String key) {
			if (key.equals(SLOW)) {
				this.asked.countDown();
				try {
					this.answers.await();
				}
				catch (InterruptedException ex) {
					Thread.currentThread().interrupt();
				}
			}
			return "value of " + key;
		}

	}

}
