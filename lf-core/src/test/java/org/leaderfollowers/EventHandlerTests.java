package org.leaderfollowers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/** Raw events of any selectable channel, with the terms of the pattern. */
@Timeout(120)
class EventHandlerTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private Pipe pipe;

	@BeforeEach
	void openPipe() throws IOException {
		this.pipe = Pipe.open();
		this.pipe.source().configureBlocking(false);
	}

	@AfterEach
	void closePipe() throws IOException {
		this.pipe.source().close();
		this.pipe.sink().close();
	}

	private void write(String text) throws IOException {
		this.pipe.sink().write(ByteBuffer.wrap(text.getBytes()));
	}

	/**
	 * Returns what has arrived. It is empty if another thread has noticed the event
	 * before the previous call read the bytes, and has claimed the handle after that
	 * call.
	 */
	private static String read(Handle handle) throws IOException {
		ByteBuffer buffer = ByteBuffer.allocate(100);
		int count = ((Pipe.SourceChannel) handle.channel()).read(buffer);
		return (count < 0) ? "end" : new String(buffer.array(), 0, count);
	}

	@Test
	void aPipeIsAnEventSource() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		List<String> events = new CopyOnWriteArrayList<>();
		Handle handle = pool.register(this.pipe.source(), (event, type) -> {
			String text = read(event);
			if (!text.isEmpty()) {
				events.add(type + " " + text);
			}
			if (text.equals("end")) {
				event.close();
			}
		}, EventType.READ);
		assertThat(handle.channel()).isSameAs(this.pipe.source());
		assertThat(handle.handleSet().name()).isEqualTo(pool.name() + "-0");
		write("one");
		Engine.eventually().until(() -> events.size() == 1);
		write("two");
		Engine.eventually().until(() -> events.size() == 2);
		assertThat(handle.isOpen()).isTrue();
		this.pipe.sink().close();
		Engine.eventually().until(() -> !this.pipe.source().isOpen());
		assertThat(events).containsExactly("READ one", "READ two", "READ end");
		assertThat(handle.isOpen()).isFalse();
		Engine.eventually().until(() -> pool.snapshot().handleSets().get(0).handles() == 0);
	}

	@Test
	void aHandleIsNeverHandledByTwoThreadsAtATime() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(4, 8);
		AtomicInteger inside = new AtomicInteger();
		AtomicInteger received = new AtomicInteger();
		AtomicBoolean overlapped = new AtomicBoolean();
		pool.register(this.pipe.source(), (event, type) -> {
			if (inside.incrementAndGet() != 1) {
				overlapped.set(true);
			}
			ByteBuffer one = ByteBuffer.allocate(1);
			if (this.pipe.source().read(one) == 1) {
				received.incrementAndGet();
			}
			Thread.yield();
			inside.decrementAndGet();
		}, EventType.READ);
		for (int i = 0; i < 2000; i++) {
			write("x");
		}
		Engine.eventually().until(() -> received.get() == 2000);
		assertThat(overlapped).isFalse();
	}

	@Test
	void aHandlerMayBlockAndItsHandleIsHeldBackWithoutSpinning() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		CountDownLatch gate = this.engine.gate();
		List<String> events = new CopyOnWriteArrayList<>();
		pool.register(this.pipe.source(), (event, type) -> {
			String text = read(event);
			if (!text.isEmpty()) {
				events.add(text);
			}
			if (text.equals("block")) {
				Engine.pass(gate);
			}
		}, EventType.READ);
		TcpServer server = this.engine.lines(pool, (connection, message) -> connection.send(message));
		write("block");
		Engine.eventually().until(() -> events.contains("block"));
		write("more");
		assertThat(this.engine.connect(server).send("x\n").readLine()).isEqualTo("x");
		long before = pool.snapshot().handleSets().get(0).events().get(EventType.READ);
		Engine.elapse(Duration.ofMillis(200));
		assertThat(pool.snapshot().handleSets().get(0).events().get(EventType.READ) - before).isLessThan(3);
		assertThat(events).containsExactly("block");
		gate.countDown();
		Engine.eventually().untilAsserted(() -> assertThat(events).containsExactly("block", "more"));
	}

	@Test
	void aHandlerThatThrowsLosesItsHandleAndNobodyElse() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		for (Throwable failure : new Throwable[] { new IOException("made for the test"),
				new IllegalStateException("made for the test"), new StackOverflowError("made for the test"),
				new OutOfMemoryError("made for the test") }) {
			Pipe failing = Pipe.open();
			failing.source().configureBlocking(false);
			Handle handle = pool.register(failing.source(), (event, type) -> {
				if (failure instanceof Exception exception) {
					throw exception;
				}
				throw (Error) failure;
			}, EventType.READ);
			failing.sink().write(ByteBuffer.allocate(1));
			Engine.eventually().until(() -> !handle.isOpen() && !failing.source().isOpen());
			failing.sink().close();
		}
		List<String> events = new CopyOnWriteArrayList<>();
		pool.register(this.pipe.source(), (event, type) -> events.add(read(event)), EventType.READ);
		write("other");
		Engine.eventually().until(() -> events.contains("other"));
		assertThat(pool.snapshot().threadsStarted()).isOne();
		assertThat(this.engine.log()).filteredOn((line) -> line.contains("its handle is closed"))
			.as("one line a second")
			.hasSizeBetween(1, 4);
	}

	@Test
	void promoteNewLeaderIsHarmlessInAHandlerAndOutside() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		AtomicReference<Boolean> result = new AtomicReference<>();
		pool.register(this.pipe.source(), (event, type) -> {
			read(event);
			pool.promoteNewLeader();
			result.set(pool.promoteNewLeader());
		}, EventType.READ);
		write("x");
		Engine.eventually().until(() -> result.get() != null);
		assertThat(result.get()).as("a leader has been promoted before").isFalse();
		assertThat(pool.promoteNewLeader()).isFalse();
		Engine.awaitIdle(pool);
	}

	@Test
	void aDeactivatedHandleIsNotWatchedUntilItIsReactivated() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		List<String> events = new CopyOnWriteArrayList<>();
		Handle handle = pool.register(this.pipe.source(), (event, type) -> {
			String text = read(event);
			if (!text.isEmpty()) {
				// Until somebody activates the handle again; that thread must be seen
				// first.
				pool.deactivateHandle(event, EventType.READ);
				events.add(text);
			}
		}, EventType.READ);
		for (int i = 1; i <= 50; i++) {
			int count = i;
			write("x");
			if (i > 1) {
				if (i % 10 == 0) {
					long before = pool.snapshot().handleSets().get(0).events().get(EventType.READ);
					Engine.elapse(Duration.ofMillis(50));
					assertThat(pool.snapshot().handleSets().get(0).events().get(EventType.READ) - before).isLessThan(3);
				}
				assertThat(events).hasSize(i - 1);
				pool.reactivateHandle(handle, EventType.READ);
			}
			Engine.eventually().until(() -> events.size() == count);
		}
		assertThat(events).containsOnly("x");
	}

	@Test
	void deactivatingFromOutsideWhileEventsComeLosesNothing() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(3, 6);
		AtomicInteger received = new AtomicInteger();
		Handle handle = pool.register(this.pipe.source(), (event, type) -> received.addAndGet(read(event).length()),
				EventType.READ);
		for (int i = 0; i < 500; i++) {
			write("ab");
			pool.deactivateHandle(handle, EventType.READ);
			write("c");
			pool.reactivateHandle(handle, EventType.READ);
		}
		Engine.eventually().until(() -> received.get() == 1500);
	}

	@Test
	void severalEventsAtOnceAreSeveralCalls() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		ConcurrentLinkedQueue<EventType> types = new ConcurrentLinkedQueue<>();
		try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
				SocketChannel channel = SocketChannel.open(listener.getLocalSocketAddress());
				Socket accepted = listener.accept()) {
			channel.configureBlocking(false);
			accepted.getOutputStream().write(1);
			Handle handle = pool.register(channel, (event, type) -> {
				types.add(type);
				pool.deactivateHandle(event, EventType.WRITE);
				if (type == EventType.READ) {
					channel.read(ByteBuffer.allocate(10));
				}
			}, EventType.READ, EventType.WRITE);
			Engine.eventually().until(() -> types.contains(EventType.READ) && types.contains(EventType.WRITE));
			handle.close();
			Engine.eventually().until(() -> !channel.isOpen());
		}
	}

	@Test
	void aFinishedConnectionWhoseHandlerBlocksDoesNotKeepTheLeaderTurning() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		try (ServerSocketChannel listener = ServerSocketChannel.open().bind(new InetSocketAddress("127.0.0.1", 0));
				SocketChannel client = SocketChannel.open()) {
			client.configureBlocking(false);
			client.connect(listener.getLocalAddress());
			CountDownLatch done = new CountDownLatch(1);
			pool.register(client, (event, type) -> {
				client.finishConnect();
				// Long enough for a leader that turns without waiting to take its
				// selector for broken. That is logged, and fails every test here.
				new CountDownLatch(1).await(300, TimeUnit.MILLISECONDS);
				event.close();
				done.countDown();
			}, EventType.CONNECT);
			assertThat(done.await(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
		}
	}

	@Test
	void aServerCanBeMadeOfRawEventsAlone() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		ServerSocketChannel listener = ServerSocketChannel.open().bind(new InetSocketAddress("127.0.0.1", 0));
		listener.configureBlocking(false);
		EventHandler echo = (event, type) -> {
			ByteBuffer buffer = ByteBuffer.allocate(100);
			SocketChannel channel = (SocketChannel) event.channel();
			if (channel.read(buffer) < 0) {
				event.close();
			}
			channel.write(buffer.flip());
		};
		pool.register(listener, (event, type) -> {
			assertThat(type).isEqualTo(EventType.ACCEPT);
			SocketChannel accepted = listener.accept();
			if (accepted != null) {
				accepted.configureBlocking(false);
				pool.register(accepted, echo, EventType.READ);
			}
		}, EventType.ACCEPT);
		List<SocketChannel> clients = new ArrayList<>();
		for (int i = 0; i < 10; i++) {
			// The client's side is an event source as well.
			SocketChannel client = SocketChannel.open();
			client.configureBlocking(false);
			AtomicReference<String> answer = new AtomicReference<>("");
			client.connect(listener.getLocalAddress());
			pool.register(client, (event, type) -> {
				if (type == EventType.CONNECT) {
					client.finishConnect();
					pool.deactivateHandle(event, EventType.CONNECT);
					pool.reactivateHandle(event, EventType.READ);
					client.write(ByteBuffer.wrap("hello".getBytes()));
				}
				else {
					ByteBuffer buffer = ByteBuffer.allocate(100);
					client.read(buffer);
					answer.set(answer.get() + new String(buffer.array(), 0, buffer.position()));
				}
			}, EventType.CONNECT);
			Engine.eventually().until(() -> answer.get().equals("hello"));
			clients.add(client);
		}
		for (SocketChannel client : clients) {
			client.close();
		}
		listener.close();
	}

	@Test
	void aDatagramSocketIsAnEventSource() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		List<String> received = new CopyOnWriteArrayList<>();
		DatagramChannel channel = DatagramChannel.open().bind(new InetSocketAddress("127.0.0.1", 0));
		channel.configureBlocking(false);
		Handle handle = pool.register(channel, (event, type) -> {
			ByteBuffer buffer = ByteBuffer.allocate(100);
			while (channel.receive(buffer.clear()) != null) {
				received.add(new String(buffer.array(), 0, buffer.position()));
			}
		}, EventType.READ);
		try (DatagramChannel client = DatagramChannel.open()) {
			for (int i = 0; i < 100; i++) {
				client.send(ByteBuffer.wrap(("" + i).getBytes()), channel.getLocalAddress());
			}
		}
		Engine.eventually().until(() -> received.size() == 100);
		handle.close();
		Engine.eventually().until(() -> !channel.isOpen());
	}

	@Test
	void closeFromOutsideWaitsForTheHandlerThatRuns() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		CountDownLatch inside = new CountDownLatch(1);
		CountDownLatch gate = this.engine.gate();
		Handle handle = pool.register(this.pipe.source(), (event, type) -> {
			inside.countDown();
			Engine.pass(gate);
			read(event);
		}, EventType.READ);
		write("x");
		Engine.pass(inside);
		handle.close();
		handle.close();
		assertThat(handle.isOpen()).isFalse();
		assertThat(this.pipe.source().isOpen()).isTrue();
		gate.countDown();
		Engine.eventually().until(() -> !this.pipe.source().isOpen());
		assertThat(this.engine.log()).isEmpty();
	}

	@Test
	void aChannelThatIsClosedUnderTheEngineHarmsNobody() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(1, 2);
		for (int i = 0; i < 100; i++) {
			Pipe other = Pipe.open();
			other.source().configureBlocking(false);
			Handle handle = pool.register(other.source(), (event, type) -> read(event), EventType.READ);
			if (i % 2 == 0) {
				other.sink().write(ByteBuffer.allocate(1));
			}
			other.source().close();
			pool.deactivateHandle(handle, EventType.READ);
			pool.reactivateHandle(handle, EventType.READ);
			handle.close();
			other.sink().close();
		}
		List<String> events = new CopyOnWriteArrayList<>();
		pool.register(this.pipe.source(), (event, type) -> events.add(read(event)), EventType.READ);
		write("fine");
		Engine.eventually().until(() -> events.contains("fine"));
	}

	@Test
	void aHandleThatCannotBeRegisteredDoesNotTakeOthersWithIt() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		CountDownLatch inside = new CountDownLatch(1);
		CountDownLatch gate = this.engine.gate();
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			inside.countDown();
			Engine.pass(gate);
			connection.send(message);
		});
		Peer peer = this.engine.connect(server).send("x\n");
		Engine.pass(inside);
		// All of these wait for the leader at the same time; two of them violate the
		// contract.
		List<Pipe> pipes = new ArrayList<>();
		AtomicInteger received = new AtomicInteger();
		for (int i = 0; i < 9; i++) {
			Pipe each = Pipe.open();
			pipes.add(each);
			each.source().configureBlocking(false);
			pool.register(each.source(), (event, type) -> {
				read(event);
				received.incrementAndGet();
			}, EventType.READ);
			each.sink().write(ByteBuffer.allocate(1));
			if (i == 3 || i == 6) {
				each.source().configureBlocking(true);
			}
		}
		gate.countDown();
		assertThat(peer.readLine()).isEqualTo("x");
		Engine.eventually().until(() -> received.get() == 7);
		assertThat(peer.send("y\n").readLine()).isEqualTo("y");
		Engine.eventually().untilAsserted(() -> assertThat(this.engine.log()).isNotEmpty());
		this.engine.log().clear();
		for (Pipe each : pipes) {
			each.sink().close();
			each.source().close();
		}
	}

	@Test
	void whatCannotBeRegisteredIsRefused() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		EventHandler handler = (event, type) -> {
		};
		assertThatIllegalArgumentException().isThrownBy(() -> pool.register(this.pipe.source(), handler));
		assertThatIllegalArgumentException()
			.isThrownBy(() -> pool.register(this.pipe.source(), handler, EventType.WRITE));
		assertThatIllegalArgumentException()
			.isThrownBy(() -> pool.register(this.pipe.source(), handler, EventType.ACCEPT, EventType.CONNECT));
		assertThatIllegalArgumentException().isThrownBy(() -> pool.register(this.pipe.sink(), handler, EventType.WRITE))
			.withMessageContaining("non-blocking");
		Handle handle = pool.register(this.pipe.source(), handler, EventType.READ);
		assertThatIllegalArgumentException().isThrownBy(() -> pool.reactivateHandle(handle, EventType.WRITE));
		LeaderFollowersPool other = this.engine.pool(1, 1);
		assertThatIllegalArgumentException().isThrownBy(() -> other.deactivateHandle(handle, EventType.READ))
			.withMessageContaining(other.name());
		handle.close();
	}

}
