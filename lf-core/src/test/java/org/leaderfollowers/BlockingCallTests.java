package org.leaderfollowers;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import java.util.stream.Stream;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

/**
 * A handler of a short message runs while its thread leads. If it calls a method that may
 * block, another thread leads from then on, without waiting for the end of the lease.
 */
@Timeout(60)
class BlockingCallTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private static Arguments call(String name, Consumer<BlockingCallTests> call) {
		return arguments(name, call);
	}

	static Stream<Arguments> calls() {
		return Stream.of(call("resize", (test) -> test.other.resize(2, 3)),
				call("deregister", (test) -> test.other.deregister("events", Duration.ZERO)),
				call("close a pool", (test) -> test.other.close(Duration.ZERO)),
				call("drain", (test) -> test.idle.drain(Duration.ZERO)),
				call("await the drain", (test) -> test.idle.awaitDrained(Duration.ZERO)),
				call("evacuate", (test) -> test.idle.evacuate(new CloseRate(1, ChronoUnit.SECONDS))),
				call("close a server", (test) -> test.idle.close(Duration.ZERO)),
				call("await the connection", (test) -> test.client.awaitConnected(Duration.ofMillis(1))),
				call("close a client", (test) -> test.client.close(Duration.ZERO)));
	}

	private LeaderFollowersPool other;

	private TcpServer idle;

	private TcpClient client;

	@ParameterizedTest(name = "{0}")
	@MethodSource("calls")
	void promotesANewLeader(String name, Consumer<BlockingCallTests> call) {
		this.other = this.engine.pool(LeaderFollowersPool.builder().threads(2, 4).eventSources("events"));
		this.other.register("events", EventSource.of(new LinkedBlockingQueue<>()), (event) -> {
		});
		this.idle = this.engine.lines(this.engine.pool(1, 2), Connection::send);
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder()
			.threads(2, 2)
			.promotionPolicy(PromotionPolicy.ADAPTIVE)
			.promotionLease(Duration.ofMinutes(1)));
		CompletableFuture<Boolean> leadsAfterwards = new CompletableFuture<>();
		try (TcpClient unconnected = TcpClient.builder(this.engine.pool(1, 1))
			.framing(Framing.line())
			.correlation(Correlation.inOrder())
			.address("localhost", this.idle.port())
			.build()) {
			this.client = unconnected;
			TcpServer server = this.engine.lines(pool, (connection, message) -> {
				// The first messages are handled by a thread that does not lead, because
				// it is not known how long they take.
				if (leads()) {
					call.accept(this);
					leadsAfterwards.complete(leads());
				}
				connection.send(message);
			});
			Peer peer = this.engine.connect(server);
			while (!leadsAfterwards.isDone()) {
				assertThat(peer.send("x\n").readLine()).isEqualTo("x");
			}
			assertThat(leadsAfterwards.join()).isFalse();
		}
	}

	private static boolean leads() {
		Participant me = Participant.current();
		return me != null && me.leading() != null;
	}

}
