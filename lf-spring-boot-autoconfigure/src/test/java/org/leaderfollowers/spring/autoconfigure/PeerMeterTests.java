package org.leaderfollowers.spring.autoconfigure;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.export.simple.SimpleMetricsExportAutoConfiguration;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

/** Meters that count many peers, each of which has an address of its own. */
@Tag("stress")
@Timeout(600)
@EnabledOnOs(OS.LINUX)
class PeerMeterTests {

	private static final int PEERS = 100_000;

	/** A connection costs more than a datagram. */
	private static final int CONNECTIONS = 20_000;

	private static final int THREADS = 4;

	/** Less than the receive buffer of a socket takes. */
	private static final int DATAGRAMS_AT_ONCE = 100;

	/** How many peers send a message that fails: one of so many. */
	private static final int FAILING = 50;

	/** If messages are also traced, their timers are made from observations. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void aHundredThousandPeersAddNoMeterAndNoTag(boolean traced) {
		ApplicationContextRunner runner = new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
					LeaderFollowersMetricsAutoConfiguration.class, LeaderFollowersObservationAutoConfiguration.class,
					MetricsAutoConfiguration.class, CompositeMeterRegistryAutoConfiguration.class,
					SimpleMetricsExportAutoConfiguration.class, ObservationAutoConfiguration.class))
			.withUserConfiguration(Handlers.class)
			.withPropertyValues("lf.server.port=0", "lf.server.proxy-protocol.trusted-networks=127.0.0.0/8",
					"lf.server.per-client.max-connections=100", "lf.servers.udp.port=0", "lf.servers.udp.transport=udp",
					"lf.servers.udp.per-client.messages-per-second=100");
		(traced ? runner.withBean("tracing", ObservationHandler.class, Tracing::new) : runner).run((context) -> {
			MeterRegistry registry = context.getBean(MeterRegistry.class);
			AtomicInteger handled = context.getBean(AtomicInteger.class);
			LeaderFollowersServers servers = context.getBean(LeaderFollowersServers.class);
			int streams = servers.get("default").port();
			int datagrams = servers.get("udp").port();
			// The first failure of a type adds a timer.
			connect(streams, 0);
			connect(streams, 1);
			send(datagrams, 0, 2, handled);
			awaitMessages(registry, 4);
			Set<Meter.Id> before = meters(registry);
			connectAll(streams);
			// Each later wait is for the datagrams alone, so that none is dropped.
			awaitHandled(handled, 4 + CONNECTIONS);
			for (int peer = CONNECTIONS; peer < PEERS; peer += DATAGRAMS_AT_ONCE) {
				send(datagrams, peer, DATAGRAMS_AT_ONCE, handled);
			}
			awaitHandled(handled, 4 + PEERS);
			assertThat(meters(registry)).containsExactlyInAnyOrderElementsOf(before);
			awaitMessages(registry, 4 + PEERS);
		});
	}

	private static Set<Meter.Id> meters(MeterRegistry registry) {
		return registry.getMeters().stream().map(Meter::getId).collect(Collectors.toSet());
	}

	/** Looks often, because there are many waits. */
	private static void awaitHandled(AtomicInteger handled, int count) {
		Awaitility.await()
			.pollDelay(Duration.ZERO)
			.pollInterval(Duration.ofMillis(1))
			.until(() -> handled.get() >= count);
	}

	private static void awaitMessages(MeterRegistry registry, long count) {
		Awaitility.await()
			.untilAsserted(
					() -> assertThat(registry.find("lf.messages").timers().stream().mapToLong(Timer::count).sum())
						.isEqualTo(count));
	}

	private static void connectAll(int port) throws Exception {
		ExecutorService executor = Executors.newFixedThreadPool(THREADS);
		try {
			List<Callable<Void>> tasks = new ArrayList<>();
			for (int thread = 0; thread < THREADS; thread++) {
				int first = thread;
				tasks.add(() -> {
					for (int peer = first; peer < CONNECTIONS; peer += THREADS) {
						connect(port, peer);
					}
					return null;
				});
			}
			for (Future<Void> task : executor.invokeAll(tasks)) {
				task.get();
			}
		}
		finally {
			executor.shutdownNow();
		}
	}

	/** Sends a message, as a load balancer does for a peer behind it. */
	private static void connect(int port, int peer) throws IOException {
		try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
			String header = "PROXY TCP4 %s 192.0.2.1 %d 7070\r\n"
				.formatted(InetAddress.getByAddress(address(10, peer)).getHostAddress(), 1024 + peer);
			socket.getOutputStream().write((header + text(peer) + "\n").getBytes(StandardCharsets.US_ASCII));
		}
	}

	/** Sends a datagram from each of some addresses. */
	private static void send(int port, int firstPeer, int count, AtomicInteger handled) throws IOException {
		int before = handled.get();
		InetSocketAddress server = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
		List<DatagramChannel> channels = new ArrayList<>();
		try {
			for (int peer = firstPeer; peer < firstPeer + count; peer++) {
				DatagramChannel channel = DatagramChannel.open();
				channels.add(channel);
				channel.bind(new InetSocketAddress(InetAddress.getByAddress(address(127, peer)), 0));
				channel.send(ByteBuffer.wrap(text(peer).getBytes(StandardCharsets.US_ASCII)), server);
			}
			awaitHandled(handled, before + count);
		}
		finally {
			for (DatagramChannel channel : channels) {
				channel.close();
			}
		}
	}

	private static byte[] address(int network, int peer) {
		return new byte[] { (byte) network, (byte) (1 + (peer >> 16)), (byte) (peer >> 8), (byte) peer };
	}

	private static String text(int peer) {
		return (peer % FAILING == 0) ? "fail" : "peer " + peer;
	}

	private static final class Tracing implements ObservationHandler<Observation.Context> {

		@Override
		public boolean supportsContext(Observation.Context context) {
			return true;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Handlers {

		@Bean
		AtomicInteger handled() {
			return new AtomicInteger();
		}

		@Bean
		@LfHandler
		MessageHandler streams(AtomicInteger handled) {
			return (connection, message) -> handle(connection, message, handled);
		}

		@Bean
		@LfHandler(server = "udp")
		MessageHandler datagrams(AtomicInteger handled) {
			return (connection, message) -> handle(connection, message, handled);
		}

		private static void handle(Connection connection, ByteBuffer message, AtomicInteger handled) {
			handled.incrementAndGet();
			if (StandardCharsets.US_ASCII.decode(message.duplicate()).toString().equals("fail")) {
				throw new IllegalStateException("As asked for by " + connection.remoteAddress());
			}
			connection.send(message);
		}

	}

}
