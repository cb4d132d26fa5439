package org.leaderfollowers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ref.Reference;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.AppenderBase;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.leaderfollowers.internal.logging.EngineLog;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The pools, servers and peers of a test. After the test, it checks that every pool is in
 * order, closes the pools, and checks that no thread or socket of them is left.
 */
public final class Engine implements BeforeEachCallback, AfterEachCallback {

	/** The time after which a test gives up waiting. No test passes because of it. */
	public static final Duration DEADLINE = Duration.ofSeconds(60);

	private static final AtomicInteger names = new AtomicInteger();

	private final List<LeaderFollowersPool> pools = new ArrayList<>();

	private final List<Peer> peers = new ArrayList<>();

	private final List<CountDownLatch> latches = new ArrayList<>();

	private final List<String> log = new CopyOnWriteArrayList<>();

	private final AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
		@Override
		protected void append(ILoggingEvent event) {
			IThrowableProxy failure = event.getThrowableProxy();
			Engine.this.log.add(event.getLevel() + " " + event.getFormattedMessage()
					+ ((failure != null) ? "\n" + ThrowableProxyUtil.asString(failure) : ""));
		}
	};

	@Override
	public void beforeEach(ExtensionContext context) {
		// Lines of an earlier test must not count for this one.
		EngineLog.INSTANCE.flush(DEADLINE.toMillis());
		this.appender.start();
		engineLogger().setAdditive(false);
		engineLogger().addAppender(this.appender);
	}

	private static Logger engineLogger() {
		return (Logger) LoggerFactory.getLogger("org.leaderfollowers.engine");
	}

	/** Everything that the engine has logged during the test. */
	List<String> log() {
		// Another thread writes the lines of leaders.
		EngineLog.INSTANCE.flush(DEADLINE.toMillis());
		return this.log;
	}

	LeaderFollowersPool pool(int min, int max) {
		return pool(LeaderFollowersPool.builder().threads(min, max));
	}

	LeaderFollowersPool pool(LeaderFollowersPool.Builder builder) {
		LeaderFollowersPool pool = builder.name("test" + names.incrementAndGet()).build();
		synchronized (this) {
			this.pools.add(pool);
		}
		return pool;
	}

	TcpServer start(TcpServer.Builder builder) {
		TcpServer server = builder.address(InetAddress.getLoopbackAddress()).port(0).build();
		server.start();
		return server;
	}

	UdpServer start(UdpServer.Builder builder) {
		UdpServer server = builder.address(InetAddress.getLoopbackAddress()).port(0).build();
		server.start();
		return server;
	}

	TcpServer lines(LeaderFollowersPool pool, MessageHandler handler) {
		return start(TcpServer.builder(pool).framing(Framing.line()).handler(handler));
	}

	Peer connect(TcpServer server) {
		return connect(server, 0);
	}

	Peer connect(TcpServer server, int receiveBuffer) {
		try {
			Peer peer = new Peer(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()), receiveBuffer);
			synchronized (this) {
				this.peers.add(peer);
			}
			return peer;
		}
		catch (IOException ex) {
			throw new AssertionError("Could not connect", ex);
		}
	}

	/** A latch of one that is opened when the test ends, at the latest. */
	CountDownLatch gate() {
		CountDownLatch gate = new CountDownLatch(1);
		this.latches.add(gate);
		return gate;
	}

	public static ConditionFactory eventually() {
		return Awaitility.await().atMost(DEADLINE).pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(5));
	}

	static void pass(CountDownLatch gate) {
		try {
			if (!gate.await(DEADLINE.toSeconds() * 2, TimeUnit.SECONDS)) {
				throw new AssertionError("The gate was not opened in time");
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException("interrupted at a gate", ex);
		}
	}

	/**
	 * Waits for real time to pass: for timeouts that must expire, never for something
	 * that must happen.
	 */
	public static void elapse(Duration time) {
		long end = System.nanoTime() + time.toNanos();
		Awaitility.await()
			.atMost(time.plus(DEADLINE))
			.pollDelay(time)
			.pollInterval(Duration.ofMillis(10))
			.until(() -> System.nanoTime() - end >= 0);
	}

	public static String text(ByteBuffer message) {
		return StandardCharsets.ISO_8859_1.decode(message.duplicate()).toString();
	}

	public static ByteBuffer bytes(String text) {
		return ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1));
	}

	/**
	 * Checks that a pool with nothing to do comes to rest: one leader for each handle set
	 * and event source, all other threads followers, and every handle active.
	 */
	static PoolSnapshot awaitIdle(LeaderFollowersPool pool) {
		AtomicReference<PoolSnapshot> idle = new AtomicReference<>();
		eventually().untilAsserted(() -> {
			PoolSnapshot snapshot = pool.snapshot();
			assertIdle(snapshot);
			idle.set(snapshot);
		});
		return idle.get();
	}

	/** See {@link Acceptor#lostSockets}. */
	public static int lostSockets(Server server) {
		return ((Acceptor) Objects.requireNonNull(((TcpServer) server).life.socket())).lostSockets();
	}

	/** Checks that a pool is at rest at the moment of the snapshot. */
	public static void assertIdle(PoolSnapshot snapshot) {
		Set<String> leaders = new HashSet<>();
		List<PoolSnapshot.HandleSetSnapshot> led = snapshot.handleSets()
			.stream()
			.filter((set) -> set.inUse() || set.leader() != null || set.handles() > 0)
			.toList();
		for (PoolSnapshot.HandleSetSnapshot set : led) {
			assertThat(set.leader()).as("leader of %s in %s", set, snapshot).isNotNull();
			assertThat(leaders.add(set.leader())).as("leaders are different threads: %s", snapshot).isTrue();
			assertThat(set.deactivated()).as("deactivated handles of %s", set).isZero();
		}
		List<PoolSnapshot.EventSourceSnapshot> sources = snapshot.eventSources()
			.stream()
			.filter((source) -> source.inUse() || source.leader() != null)
			.toList();
		for (PoolSnapshot.EventSourceSnapshot source : sources) {
			assertThat(source.leader()).as("leader of %s in %s", source, snapshot).isNotNull();
			assertThat(leaders.add(source.leader())).as("leaders are different threads: %s", snapshot).isTrue();
			assertThat(source.handling()).as("events of %s", source).isZero();
		}
		assertThat(snapshot.count(ThreadRole.LEADER)).as("%s", snapshot).isEqualTo(led.size() + sources.size());
		assertThat(snapshot.count(ThreadRole.PROCESSING)).as("%s", snapshot).isZero();
		assertThat(snapshot.count(ThreadRole.LEADER) + snapshot.count(ThreadRole.FOLLOWER))
			.isEqualTo(snapshot.threads().size());
		assertThat(snapshot.threads()).hasSizeBetween(snapshot.minThreads(), snapshot.maxThreads());
	}

	/** How many threads a pool keeps that were never started. */
	public static int unstartedThreads(LeaderFollowersPool pool) {
		int count = 0;
		for (Thread thread : pool.threads.own()) {
			count += (thread.getState() == Thread.State.NEW) ? 1 : 0;
		}
		return count;
	}

	static List<String> threadsOf(LeaderFollowersPool pool) {
		return Thread.getAllStackTraces()
			.keySet()
			.stream()
			.map(Thread::getName)
			.filter((name) -> name.startsWith("lf-" + pool.name() + "-"))
			.toList();
	}

	/** Waits until a thread waits for events. */
	static void awaitSelecting(Thread thread) {
		eventually().untilAsserted(() -> assertSelecting(thread));
	}

	static void assertSelecting(Thread thread) {
		assertThat(thread.getStackTrace()).anyMatch((frame) -> frame.getMethodName().equals("select"));
	}

	static void awaitNoThreads(LeaderFollowersPool pool) {
		eventually().untilAsserted(() -> assertThat(threadsOf(pool)).isEmpty());
	}

	static long descriptors() {
		try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
			return files.count();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/** Waits until nothing keeps an object any more. */
	public static void awaitCollected(Reference<?> reference) {
		eventually().until(() -> {
			System.gc();
			return reference.refersTo(null);
		});
	}

	static long usedHeap() {
		System.gc();
		return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
	}

	@Override
	public void afterEach(ExtensionContext context) {
		boolean failed = context.getExecutionException().isPresent();
		this.latches.forEach(CountDownLatch::countDown);
		this.peers.forEach(Peer::close);
		try {
			for (LeaderFollowersPool pool : this.pools) {
				if (!failed && pool.snapshot().state() == PoolSnapshot.State.RUNNING) {
					awaitIdle(pool);
				}
			}
			for (LeaderFollowersPool pool : this.pools) {
				boolean ended = pool.close(failed ? Duration.ofSeconds(1) : DEADLINE);
				if (!failed) {
					assertThat(ended).as("%s was closed in time", pool).isTrue();
					awaitNoThreads(pool);
				}
			}
			if (!failed) {
				// These lines report faults of the engine itself, which it survives.
				assertThat(log()).noneMatch((line) -> line.contains("Leading handle set"))
					.noneMatch((line) -> line.contains("selector of handle set"));
			}
		}
		finally {
			engineLogger().detachAppender(this.appender);
			engineLogger().setAdditive(true);
			if (failed) {
				this.pools.forEach((pool) -> pool.close(Duration.ZERO));
				this.log.forEach((line) -> LoggerFactory.getLogger(Engine.class).error("Logged: {}", line));
			}
		}
	}

}
