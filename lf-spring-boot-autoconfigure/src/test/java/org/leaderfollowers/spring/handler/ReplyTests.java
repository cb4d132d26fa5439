package org.leaderfollowers.spring.handler;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnClose;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.annotation.OnOpen;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What a method returns, and what the client gets.
 */
@ExtendWith(OutputCaptureExtension.class)
class ReplyTests {

	/** More than the buffers of the system take. */
	private static final int MANY = 400_000;

	@Test
	void nothingIsReplied() {
		HandlerRunner.talk(HandlerRunner.of(Choosy.class), (client, context) -> {
			client.send("void");
			client.send("null");
			client.send("empty");
			client.send("empty future");
			client.send("no elements");
			assertThat(client.ask("reply")).isEqualTo("reply");
			assertThat(client.ask("optional")).isEqualTo("optional");
			assertThat(client.ask("builder")).isEqualTo("builder");
		});
	}

	@Test
	void severalMessagesAreReplied() {
		HandlerRunner.talk(HandlerRunner.of(Choosy.class), (client, context) -> {
			for (String request : List.of("list", "stream", "future of list", "iterator")) {
				assertThat(client.ask(request)).isEqualTo("1");
				assertThat(client.read()).isEqualTo("[2,3]");
				assertThat(client.read()).isEqualTo("four");
			}
			assertThat(client.ask("array")).isEqualTo("[1,2]");
			assertThat(client.ask("ints")).isEqualTo("0");
			assertThat(client.read()).isEqualTo("1");
		});
	}

	@Test
	void classOfTheValueDecidesIfTheMethodDoesNotTell() {
		HandlerRunner.talk(HandlerRunner.of(Untold.class), (client, context) -> {
			assertThat(client.ask("stage")).isEqualTo("later");
			assertThat(client.ask("optional")).isEqualTo("later");
			assertThat(client.ask("mono")).isEqualTo("later");
			assertThat(client.ask("flux")).isEqualTo("later");
			assertThat(client.read()).isEqualTo("and later");
			assertThat(client.read()).isEqualTo("later still");
			assertThat(client.read()).isEqualTo("last");
			assertThat(client.ask("stage of mono")).isEqualTo("later");
			for (String request : List.of("callable", "future", "list of mono", "list of stage", "late future")) {
				assertThat(client.ask(request)).as(request).startsWith("refused: A ").doesNotContain("never");
			}
			assertThat(client.ask("list of mono"))
				.isEqualTo("refused: A reactor.core.publisher.MonoJust cannot be sent as a message. "
						+ "Return a CompletableFuture or a Mono for one reply that comes later, or a Stream or a Flux for several.");
			assertThat(client.ask("else")).isEqualTo("{\"text\":\"else\"}");
		});
	}

	@Test
	void callableIsRefusedAtStart() {
		HandlerRunner.of(Calling.class)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining("Method call() returns a Callable, which is not supported"));
	}

	@Test
	void greetingIsSent() {
		HandlerRunner.talk(HandlerRunner.of(Greeting.class), (client, context) -> {
			assertThat(client.read()).isEqualTo("welcome to default");
			assertThat(client.ask("hello")).isEqualTo("hello");
			client.close();
			Awaitility.await()
				.untilAsserted(
						() -> assertThat(context.getBean(Greeting.class).closed).containsExactly(CloseReason.PEER));
		});
	}

	@Test
	void repliesThatComeLaterKeepTheirOrder() {
		HandlerRunner.talk(HandlerRunner.of(Later.class), (client, context) -> {
			Later handler = context.getBean(Later.class);
			client.send("1");
			client.send("2");
			client.send("now");
			Awaitility.await().until(() -> handler.asked.size() == 1);
			handler.asked.remove().complete("one");
			assertThat(client.read()).isEqualTo("one");
			Awaitility.await().until(() -> handler.asked.size() == 1);
			handler.asked.remove().complete("two");
			assertThat(client.read()).isEqualTo("two");
			assertThat(client.read()).isEqualTo("now");
		});
	}

	@Test
	void failureThatComesLaterIsHandled(CapturedOutput output) {
		HandlerRunner.talk(HandlerRunner.of(Later.class), (client, context) -> {
			Later handler = context.getBean(Later.class);
			client.send("1");
			Awaitility.await().until(() -> handler.asked.size() == 1);
			handler.asked.remove().completeExceptionally(new IllegalArgumentException("no"));
			assertThat(client.read()).isEqualTo("failed: no");
			assertThat(client.ask("composed")).isEqualTo("failed: composed");
			assertThat(client.ask("now")).isEqualTo("now");
			client.send("2");
			Awaitility.await().until(() -> handler.asked.size() == 1);
			handler.asked.remove().completeExceptionally(new IllegalStateException("nobody handles it"));
			assertThat(client.read()).isNull();
			assertThat(handler.closed.poll(60, TimeUnit.SECONDS)).isEqualTo(CloseReason.HANDLER_ERROR);
		});
		assertThat(output).containsOnlyOnce("java.lang.IllegalStateException: nobody handles it");
	}

	@Test
	void drainWaitsForRepliesThatComeLater() {
		HandlerRunner.talk(HandlerRunner.of(Later.class), (client, context) -> {
			Later handler = context.getBean(Later.class);
			client.send("1");
			Awaitility.await().until(() -> handler.asked.size() == 1);
			CompletableFuture<Boolean> drained = CompletableFuture.supplyAsync(
					() -> context.getBean(LeaderFollowersServers.class).get("default").drain(Duration.ofSeconds(20)),
					(task) -> new Thread(task).start());
			assertThat(drained.isDone()).isFalse();
			handler.asked.remove().complete("one");
			assertThat(client.read()).isEqualTo("one");
			assertThat(drained.get()).isTrue();
		});
	}

	@Test
	void aPeerThatReadsSlowlyGetsAllOfALongReply() {
		HandlerRunner.of(Counting.class).withPropertyValues("lf.server.max-outbound-size=64KB").run((context) -> {
			Counting handler = context.getBean(Counting.class);
			try (Socket socket = slowSocket(context.getBean(LeaderFollowersServers.class).get("default").port())) {
				socket.getOutputStream().write("count\nend\n".getBytes());
				Awaitility.await().until(() -> isStalled(handler));
				assertThat(handler.made).hasValueLessThan(MANY);
				assertThat(handler.closed).hasValue(0);
				BufferedReader reader = new BufferedReader(new InputStreamReader(socket.getInputStream()));
				for (int i = 0; i < MANY; i++) {
					assertThat(reader.readLine()).isEqualTo("row " + i);
				}
				assertThat(reader.readLine()).isEqualTo("end");
				assertThat(handler.closed).hasValue(1);
			}
		});
	}

	@Test
	void clientsThatReadALongReplyAsFastAsItIsMadeDoNotKeepOthersWaiting() {
		HandlerRunner.of(Counting.class)
			.withPropertyValues("lf.pool.threads.min=2", "lf.pool.threads.max=2")
			.run((context) -> {
				int port = context.getBean(LeaderFollowersServers.class).get("default").port();
				List<Socket> sockets = new ArrayList<>();
				List<Thread> readers = new ArrayList<>();
				try (LineClient client = HandlerRunner.connect(context)) {
					for (int i = 0; i < 4; i++) {
						Socket socket = new Socket("localhost", port);
						sockets.add(socket);
						socket.getOutputStream().write("endless\n".getBytes());
						assertThat(socket.getInputStream().read()).isEqualTo('0');
						Thread reader = new Thread(() -> readAll(socket));
						reader.start();
						readers.add(reader);
					}
					for (int i = 0; i < 20; i++) {
						assertThat(client.ask("end")).isEqualTo("end");
					}
				}
				finally {
					for (Socket socket : sockets) {
						socket.close();
					}
				}
				for (Thread reader : readers) {
					reader.join();
				}
			});
	}

	private static void readAll(Socket socket) {
		try {
			socket.getInputStream().transferTo(OutputStream.nullOutputStream());
		}
		catch (IOException ex) {
			// The test has closed the socket.
		}
	}

	@Test
	void longReplyIsClosedWhenItsPeerLeaves() {
		HandlerRunner.of(Counting.class).withPropertyValues("lf.server.max-outbound-size=64KB").run((context) -> {
			Counting handler = context.getBean(Counting.class);
			try (Socket socket = slowSocket(context.getBean(LeaderFollowersServers.class).get("default").port())) {
				socket.getOutputStream().write("count\n".getBytes());
				Awaitility.await().until(() -> isStalled(handler));
				socket.setSoLinger(true, 0);
			}
			Awaitility.await().untilAsserted(() -> assertThat(handler.closed).hasValue(1));
			assertThat(handler.made).hasValueLessThan(MANY);
		});
	}

	@Test
	void replyThatFailsInTheMiddleIsHandledAndClosed() {
		HandlerRunner.talk(HandlerRunner.of(Counting.class), (client, context) -> {
			assertThat(client.ask("fail")).isEqualTo("first");
			assertThat(client.read()).isEqualTo("failed: in the middle");
			assertThat(client.ask("end")).isEqualTo("end");
			assertThat(context.getBean(Counting.class).closed).hasValue(1);
		});
	}

	/** Whether the peer has fallen behind, so that no further rows are made. */
	private static boolean isStalled(Counting handler) {
		Connection connection = handler.connection;
		return connection != null && !connection.isWritable();
	}

	private static Socket slowSocket(int port) throws Exception {
		Socket socket = new Socket();
		socket.setReceiveBufferSize(8192);
		socket.setSoTimeout(20_000);
		socket.connect(new InetSocketAddress("localhost", port));
		return socket;
	}

	@LfHandler
	static class Choosy {

		@OnMessage
		@Nullable Object reply(String request) {
			List<Object> several = List.of(1, List.of(2, 3), "four");
			return switch (request) {
				case "void", "null" -> null;
				case "empty" -> Optional.empty();
				case "empty future" -> CompletableFuture.completedFuture(null);
				case "no elements" -> List.of();
				case "optional" -> Optional.of("optional");
				case "builder" -> new StringBuilder("builder");
				case "list" -> several;
				case "stream" -> several.stream();
				case "iterator" -> several.iterator();
				case "future of list" -> CompletableFuture.supplyAsync(() -> several);
				case "array" -> new int[] { 1, 2 };
				case "ints" -> IntStream.range(0, 2);
				default -> request;
			};
		}

	}

	@LfHandler
	static class Untold {

		@OnMessage
		Object reply(String request) {
			return switch (request) {
				case "stage" -> CompletableFuture.completedStage("later");
				case "optional" -> Optional.of(CompletableFuture.completedFuture("later"));
				case "mono" -> Mono.just("later");
				case "flux" -> Flux.just("later", "and later", "later still", "last");
				case "callable" -> (Callable<String>) () -> "never";
				case "future" -> new FutureTask<>(() -> "never");
				case "late future" -> CompletableFuture.supplyAsync(() -> new FutureTask<>(() -> "never"),
						CompletableFuture.delayedExecutor(20, TimeUnit.MILLISECONDS));
				case "stage of mono" -> CompletableFuture.completedFuture(Mono.just("later"));
				case "list of mono" -> List.of(Mono.just("never"));
				case "list of stage" -> List.of(CompletableFuture.completedFuture("never"));
				default -> new Told(request);
			};
		}

		@OnError
		String refused(IllegalArgumentException ex) {
			return "refused: " + ex.getMessage();
		}

	}

	@LfHandler
	static class Calling {

		@OnMessage
		Callable<String> call() {
			return () -> "never";
		}

	}

	record Told(String text) {
	}

	@LfHandler
	static class Greeting {

		private final Queue<CloseReason> closed = new ConcurrentLinkedQueue<>();

		@OnOpen
		String welcome(Connection connection) {
			return "welcome to " + connection.server();
		}

		@OnMessage
		String echo(String text) {
			return text;
		}

		@OnClose
		void closed(CloseReason reason) {
			this.closed.add(reason);
		}

	}

	@LfHandler
	static class Later {

		private final Queue<CompletableFuture<String>> asked = new ConcurrentLinkedQueue<>();

		private final BlockingQueue<CloseReason> closed = new LinkedBlockingQueue<>();

		@OnMessage
		CompletionStage<String> ask(String text) {
			if (text.equals("now")) {
				return CompletableFuture.completedFuture(text);
			}
			if (text.equals("composed")) {
				return CompletableFuture.runAsync(() -> {
					throw new IllegalArgumentException(text);
				}).thenApply((nothing) -> "never");
			}
			CompletableFuture<String> future = new CompletableFuture<>();
			this.asked.add(future);
			return future;
		}

		@OnError
		String failed(IllegalArgumentException ex) {
			return "failed: " + ex.getMessage();
		}

		@OnClose
		void closed(CloseReason reason) {
			this.closed.add(reason);
		}

	}

	@LfHandler
	static class Counting {

		private volatile @Nullable Connection connection;

		private final AtomicInteger made = new AtomicInteger();

		private final AtomicInteger closed = new AtomicInteger();

		@OnMessage
		Stream<String> count(String request, Connection connection) {
			this.connection = connection;
			return switch (request) {
				case "count" -> IntStream.range(0, MANY).mapToObj((i) -> {
					this.made.incrementAndGet();
					return "row " + i;
				}).onClose(this.closed::incrementAndGet);
				case "endless" -> IntStream.iterate(0, (i) -> i + 1).mapToObj(String::valueOf);
				case "fail" -> Stream.of("first", "second").map((text) -> {
					if (text.equals("second")) {
						throw new IllegalArgumentException("in the middle");
					}
					return text;
				}).onClose(this.closed::incrementAndGet);
				default -> Stream.of(request);
			};
		}

		@OnError
		String failed(IllegalArgumentException ex) {
			return "failed: " + ex.getMessage();
		}

	}

}
