package org.leaderfollowers.spring.limit;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.LongSupplier;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ConnectionGuard.Permit;
import org.leaderfollowers.spring.limit.ClientLimits.Action;
import org.leaderfollowers.spring.limit.ClientLimits.Limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;

/** Tests for {@link ClientTable} and its users. */
class ClientTableTests {

	private static final ClientLimits LIMITS = new ClientLimits(Map.of(Limit.MESSAGES_PER_SECOND, 10L), Action.SUSPEND);

	private final AtomicLong clock = new AtomicLong();

	private final ClientTable table = new ClientTable(100, 32, 64, this.clock::get);

	private static InetAddress ipv4(int number) throws UnknownHostException {
		return InetAddress.getByAddress(ByteBuffer.allocate(4).putInt(number).array());
	}

	private static InetAddress ipv6(long network) throws UnknownHostException {
		return InetAddress.getByAddress(ByteBuffer.allocate(16).putLong(network).putLong(1).array());
	}

	/** A client that the table must not forget. */
	private Client use(InetAddress address) {
		Client client = this.table.acquire(address);
		client.take(LIMITS, 1);
		return client;
	}

	@Test
	void aFullTableCountsNewClientsByWiderNetworks() throws UnknownHostException {
		for (int i = 0; i < 100; i++) {
			assertThat(use(ipv4(0x0A000000 + i)).level()).isZero();
		}
		assertThat(use(ipv4(0xCB007101)).name()).isEqualTo("203.0.113.0/24");
		assertThat(use(ipv4(0xCB007102)).name()).isEqualTo("203.0.113.0/24");
		assertThat(use(ipv6(0x20010db8_00010002L)).name()).isEqualTo("2001:db8:1:0:0:0:0:0/56");
		assertThat(this.table.clients()).isEqualTo(100);
		assertThat(this.table.aggregates()).isEqualTo(2);
		// Known clients keep their entries.
		assertThat(use(ipv4(0x0A000005)).name()).isEqualTo("10.0.0.5");
	}

	@Test
	void anAttackerWithManyAddressesDoesNotFillTheTable() throws UnknownHostException {
		Client known = use(ipv4(0x0A000001));
		for (int i = 0; i < 20_000; i++) {
			use(ipv4(0x14000000 + i * 512));
			use(ipv6(0x20010db8_00000000L + ((long) i << 32)));
		}
		assertThat(this.table.clients()).isEqualTo(100);
		assertThat(this.table.aggregates()).isLessThanOrEqualTo(3 * 64);
		assertThat(use(ipv4(0x0A000001))).isSameAs(known);
		assertThat(use(ipv4(0xF0000001)).name()).isEqualTo("other IPv4 clients");
		assertThat(use(ipv6(0x3001L << 48)).name()).isEqualTo("other IPv6 clients");
	}

	@Test
	void clientsThatAreIdleGiveWay() throws UnknownHostException {
		for (int i = 0; i < 100; i++) {
			this.table.release(use(ipv4(0x0A000000 + i)));
		}
		assertThat(use(ipv4(0xCB007101)).level()).as("all have just sent something").isEqualTo(1);
		this.clock.addAndGet(Duration.ofSeconds(1).toNanos());
		for (int i = 0; i < 10; i++) {
			assertThat(use(ipv4(0xCB007200 + i)).level()).isZero();
		}
		for (int i = 0; i < 100; i++) {
			this.table.release(use(ipv4(0xCB007300)));
			this.table.release(this.table.acquire(ipv4(0xCB007400 + i)));
		}
		assertThat(this.table.clients()).as("those in use and a few that nobody has looked at").isLessThan(40);
	}

	@Test
	void clientsOfDatagramsAreInUseForAMomentOnly() throws UnknownHostException {
		for (int i = 0; i < 300; i++) {
			assertThat(this.table.find(ipv4(0x0A000000 + i)).level()).isZero();
			assertThat(this.table.findKey("key" + i)).isNotNull();
		}
	}

	@Test
	void noAggregateIsNarrowerThanAClient() throws UnknownHostException {
		ClientTable wide = new ClientTable(1, 20, 64, this.clock::get);
		wide.acquire(ipv4(0x0A000000));
		assertThat(wide.acquire(ipv4(0xCB007101)).name()).isEqualTo("203.0.0.0/16");
	}

	@Test
	void aKeyOfTheApplicationNeverMeetsAnAddress() throws UnknownHostException {
		Client byAddress = this.table.acquire(ipv4(0x0A000001));
		Client byKey = this.table.acquireKey(ClientPrefix.of(ipv4(0x0A000001), 32));
		assertThat(byKey).isNotNull().isNotSameAs(byAddress);
		assertThat(this.table.acquireKey(ClientPrefix.of(ipv4(0x0A000001), 32))).isSameAs(byKey);
		assertThat(this.table.findKey("4711")).isNotNull();
	}

	/** The names of sessions, for example, are chosen by clients. */
	@Test
	void keysWithEqualHashCodesAreFoundFast() {
		AtomicInteger compared = new AtomicInteger();
		record Name(int number, AtomicInteger compared) {

			@Override
			public boolean equals(Object other) {
				this.compared.incrementAndGet();
				return other instanceof Name name && this.number == name.number;
			}

			@Override
			public int hashCode() {
				return 1;
			}

			@Override
			public String toString() {
				return "client " + this.number;
			}

		}
		ClientTable large = new ClientTable(2000, 32, 64, this.clock::get);
		for (int i = 0; i < 2000; i++) {
			assertThat(large.acquireKey(new Name(i, compared))).isNotNull();
		}
		assertThat(compared.get()).as("comparisons of 2000 keys").isLessThan(200_000);
	}

	/**
	 * A user that has acquired a client keeps it: while one thread uses it, no other
	 * thread gets another object for the same key, whoever forgets clients meanwhile. At
	 * the end, nothing is counted.
	 */
	@Test
	void aClientInUseIsNeverForgotten() throws Exception {
		int keys = 12;
		ClientTable small = new ClientTable(8, 32, 64, System::nanoTime);
		ClientLimits limits = new ClientLimits(Map.of(Limit.MAX_CONNECTIONS, 1000L), Action.SUSPEND);
		AtomicIntegerArray users = new AtomicIntegerArray(keys);
		AtomicReferenceArray<Client> current = new AtomicReferenceArray<>(keys);
		AtomicInteger full = new AtomicInteger();
		inParallel((random) -> {
			for (int i = 0; i < 50_000; i++) {
				int key = random.nextInt(keys);
				Client client = small.acquireKey(key);
				assertThat(small.clients()).isLessThanOrEqualTo(8 + 4);
				if (client == null) {
					full.incrementAndGet();
					continue;
				}
				synchronized (client) {
					// Whoever comes first names the object; it stays until the last one
					// has gone.
					if (users.getAndIncrement(key) == 0) {
						current.set(key, client);
					}
				}
				assertThat(current.get(key)).isSameAs(client);
				assertThat(client.admit(limits, null)).isNull();
				client.leave(null);
				synchronized (client) {
					users.decrementAndGet(key);
				}
				small.release(client);
			}
			return null;
		});
		assertThat(full).hasPositiveValue();
		for (int i = 0; i < 8; i++) {
			assertThat(small.acquireKey("fresh " + i)).as("all others can be forgotten").isNotNull();
		}
	}

	/** A connection may be closed while the application names its client. */
	@Test
	void aConnectionIsCountedOnceWhenItIsIdentifiedAndClosedAtTheSameTime() throws Exception {
		try (ClientLimiters limiters = new ClientLimiters((connection) -> "4711")) {
			ClientLimits limits = new ClientLimits(Map.of(Limit.MAX_CONNECTIONS, 1L), Action.SUSPEND);
			ClientLimiter limiter = limiters.add("test", false, limits, 10, 32, 64);
			Connection connection = connection();
			ExecutorService executor = Executors.newFixedThreadPool(2);
			try {
				for (int i = 0; i < 5_000; i++) {
					Permit permit = limiter.admit(new InetSocketAddress(InetAddress.getLoopbackAddress(), 1));
					assertThat(permit).as("permit %d", i).isNotNull();
					permit.opened(connection);
					LimitedConnection limited = LimitedConnection.of(connection);
					assertThat(limited).isNotNull();
					Future<?> identified = executor.submit(() -> limited.identify(connection));
					Future<?> closed = executor.submit(permit::closed);
					identified.get(60, TimeUnit.SECONDS);
					closed.get(60, TimeUnit.SECONDS);
				}
			}
			finally {
				executor.shutdownNow();
			}
			assertThat(limiter.snapshot().offenders()).isEmpty();
		}
	}

	private interface Work {

		Void run(Random random) throws Exception;

	}

	private static void inParallel(Work work) throws Exception {
		int threads = 4;
		ExecutorService executor = Executors.newFixedThreadPool(threads);
		try {
			List<Callable<Void>> tasks = new ArrayList<>();
			for (int i = 0; i < threads; i++) {
				int seed = i;
				tasks.add(() -> work.run(new Random(seed)));
			}
			for (Future<Void> done : executor.invokeAll(tasks, 60, TimeUnit.SECONDS)) {
				done.get();
			}
		}
		finally {
			executor.shutdownNow();
		}
	}

	@Test
	void theListOfOffendersIsBounded() {
		try (ClientLimiters limiters = new ClientLimiters(null, this.clock::get)) {
			ClientLimiter limiter = limiters.add("test", false, LIMITS, 10, 32, 64);
			for (int i = 0; i < 1000; i++) {
				limiter.exceeded(new Client("client " + i, 0, 1, this.clock::get), Limit.MESSAGES_PER_SECOND,
						ClientLimiter.Effect.SUSPEND);
			}
			Client busy = new Client("client 950", 0, 1, this.clock::get);
			limiter.exceeded(busy, Limit.MESSAGES_PER_SECOND, ClientLimiter.Effect.SUSPEND);
			List<ClientLimiter.Offender> offenders = limiter.snapshot().offenders();
			assertThat(offenders).hasSize(Offenders.MOST);
			assertThat(offenders.get(0).client()).isEqualTo("client 950");
			assertThat(offenders.get(0).count()).isEqualTo(2);
			assertThat(offenders.get(1).client()).isEqualTo("client 999");
			assertThat(limiter.excesses(Limit.MESSAGES_PER_SECOND, ClientLimiter.Effect.SUSPEND)).isEqualTo(1001);
		}
	}

	/**
	 * A flood of excesses neither waits for others nor formats the name of the client.
	 */
	@Test
	void anExcessOfAKnownOffenderIsCheap() throws Exception {
		AtomicInteger named = new AtomicInteger();
		Object key = new Object() {

			@Override
			public String toString() {
				named.incrementAndGet();
				return "4711";
			}

		};
		Client client = new Client(key, 0, 1, this.clock::get);
		Offenders offenders = new Offenders();
		assertThat(offenders.record(client, Limit.MESSAGES_PER_SECOND)).isTrue();
		ExecutorService executor = Executors.newSingleThreadExecutor();
		try {
			synchronized (offenders) {
				assertThat(executor.submit(() -> offenders.record(client, Limit.MESSAGES_PER_SECOND))
					.get(60, TimeUnit.SECONDS)).isFalse();
			}
		}
		finally {
			executor.shutdownNow();
		}
		assertThat(named).hasValue(0);
		assertThat(offenders.list()).singleElement().satisfies((offender) -> {
			assertThat(offender.client()).isEqualTo("4711");
			assertThat(offender.count()).isEqualTo(2);
			assertThat(offender.since()).isBefore(offender.latest());
		});
	}

	/** An offender that was forgotten, or known by another object, is the same one. */
	@Test
	void anOffenderIsKnownByItsKeyAndLimit() {
		Offenders offenders = new Offenders();
		Client client = new Client("4711", 0, 1, this.clock::get);
		assertThat(offenders.record(client, Limit.MESSAGES_PER_SECOND)).isTrue();
		assertThat(offenders.record(client, Limit.BYTES_PER_SECOND)).isTrue();
		assertThat(offenders.record(client, Limit.MESSAGES_PER_SECOND)).isFalse();
		assertThat(offenders.record(new Client("4711", 0, 1, this.clock::get), Limit.BYTES_PER_SECOND)).isFalse();
		for (int i = 0; i < Offenders.MOST; i++) {
			offenders.record(new Client(i, 0, 1, this.clock::get), Limit.BYTES_PER_SECOND);
		}
		assertThat(offenders.list()).noneMatch((offender) -> offender.client().equals("4711"));
		assertThat(offenders.record(client, Limit.MESSAGES_PER_SECOND)).isTrue();
		assertThat(offenders.list()).hasSize(Offenders.MOST).first().satisfies((offender) -> {
			assertThat(offender.client()).isEqualTo("4711");
			assertThat(offender.count()).isEqualTo(1);
		});
	}

	private static Connection connection() {
		Connection connection = mock(Connection.class);
		given(connection.attributes()).willReturn(new ConcurrentHashMap<>());
		given(connection.isOpen()).willReturn(true);
		given(connection.suspend()).willReturn(() -> {
		});
		return connection;
	}

	/** The client could not log in: nothing was read from it. */
	@Test
	void aLoginTimeoutOfASuspendedConnectionIsNoFailedLogin() {
		try (ClientLimiters limiters = new ClientLimiters(null, this.clock::get)) {
			ClientLimits limits = new ClientLimits(
					Map.of(Limit.BYTES_PER_SECOND, 1L, Limit.FAILED_LOGINS_PER_MINUTE, 1L), Action.SUSPEND);
			ClientLimiter limiter = limiters.add("test", false, limits, 10, 32, 64);
			LimitedConnection suspended = opened(limiter);
			suspended.takes(connection(), 1000);
			suspended.ends(CloseReason.LOGIN_TIMEOUT);
			LimitedConnection other = opened(limiter);
			other.ends(CloseReason.LOGIN_TIMEOUT);
			assertThat(limiter.admit(new InetSocketAddress(InetAddress.getLoopbackAddress(), 1))).isNull();
		}
	}

	/** A conversation goes on, but the client owes all of its messages. */
	@Test
	void aConversationIsNoWayAroundALimit() {
		try (ClientLimiters limiters = new ClientLimiters(null, this.clock::get)) {
			ClientLimits limits = new ClientLimits(Map.of(Limit.MESSAGES_PER_SECOND, 1L), Action.SUSPEND);
			ClientLimiter limiter = limiters.add("test", false, limits, 10, 32, 64);
			LimitedConnection conversing = opened(limiter);
			Connection connection = connection();
			for (int i = 0; i < 101; i++) {
				conversing.received(connection, ByteBuffer.allocate(1));
			}
			assertThat(limiter.table().find(InetAddress.getLoopbackAddress()).owed(limits))
				.isEqualTo(Duration.ofSeconds(100).toNanos());
			Connection next = connection();
			assertThat(opened(limiter).begins(next)).isTrue();
			then(next).should().suspend();
		}
	}

	/** Otherwise, the table would fill with clients that have gone. */
	@Test
	void connectionsThatHaveEndedAreForgotten() throws UnknownHostException {
		AtomicInteger number = new AtomicInteger();
		try (ClientLimiters limiters = new ClientLimiters((connection) -> "client " + number.get(), this.clock::get)) {
			ClientLimits limits = new ClientLimits(Map.of(Limit.MAX_CONNECTIONS, 1L), Action.SUSPEND);
			ClientLimiter limiter = limiters.add("test", false, limits, 10, 32, 64);
			for (int i = 0; i < 5; i++) {
				InetSocketAddress address = new InetSocketAddress(ipv4(0x0A000000 + i), 1);
				LimitedConnection closedFirst = opened(limiter, address);
				assertThat(limiter.admit(address)).as("a second connection").isNull();
				closedFirst.closed();
				assertThat(closedFirst.identify(connection())).isTrue();
				LimitedConnection identified = opened(limiter, address);
				number.set(i);
				assertThat(identified.identify(connection())).isTrue();
				LimitedConnection further = opened(limiter, address);
				assertThat(further.identify(connection())).as("a second connection of the key").isFalse();
				further.closed();
				identified.closed();
			}
			for (int i = 0; i < 10; i++) {
				assertThat(limiter.table().acquireKey("fresh " + i)).as("room for client %d", i).isNotNull();
			}
		}
	}

	/** Otherwise, the table would keep the entry for ever. */
	@Test
	void aClientThatCannotBeCountedForWantOfMemoryIsForgotten() {
		AtomicBoolean isShort = new AtomicBoolean();
		try (ClientLimiters limiters = new ClientLimiters((connection) -> "4711", () -> {
			if (isShort.get()) {
				throw new OutOfMemoryError("made for the test");
			}
			return this.clock.get();
		})) {
			ClientLimits limits = new ClientLimits(Map.of(Limit.MAX_CONNECTIONS, 1L), Action.SUSPEND);
			ClientLimiter limiter = limiters.add("test", false, limits, 2, 32, 64);
			LimitedConnection limited = opened(limiter);
			isShort.set(true);
			assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> limited.identify(connection()));
			isShort.set(false);
			limited.closed();
			assertThat(limiter.table().acquireKey("fresh 1")).isNotNull();
			assertThat(limiter.table().acquireKey("fresh 2")).isNotNull();
		}
	}

	/**
	 * Many shortages would fill the table otherwise. The map compares keys before it adds
	 * one, and also afterwards if it makes a tree of the bin: when there are 9 to 11.
	 */
	@ParameterizedTest
	@ValueSource(ints = { 9, 10, 11, 20 })
	void aClientThatCannotBeAddedIsNotCounted(int known) {
		AtomicInteger failures = new AtomicInteger();
		record Name(int number, AtomicInteger failures) {

			@Override
			public int hashCode() {
				return 1;
			}

			/**
			 * The map compares equal hash codes by this, also after the client exists.
			 */
			@Override
			public String toString() {
				if (this.failures.getAndDecrement() == 1) {
					throw new OutOfMemoryError("made for the test");
				}
				return "client " + this.number;
			}

		}
		int names = 30;
		ClientTable full = new ClientTable(names, 32, 64, this.clock::get);
		List<Client> acquired = new ArrayList<>();
		for (int i = 0; i < known; i++) {
			acquired.add(full.acquireKey(new Name(i, failures)));
		}
		Name last = new Name(known, failures);
		int failed = 0;
		boolean isKeptByTheLoop = false;
		for (int call = 1; full.clients() == known && !isKeptByTheLoop; call++) {
			failures.set(call);
			try {
				full.acquireKey(last);
				isKeptByTheLoop = true;
			}
			catch (OutOfMemoryError ex) {
				failed++;
			}
			finally {
				failures.set(0);
			}
		}
		assertThat(failed).isPositive();
		for (int i = known; i < names; i++) {
			acquired.add(full.acquireKey(new Name(i, failures)));
		}
		assertThat(acquired).doesNotContainNull();
		assertThat(full.clients()).isEqualTo(names);
		acquired.forEach(full::release);
		if (isKeptByTheLoop) {
			full.release(acquired.get(known));
		}
		this.clock.addAndGet(Duration.ofDays(1).toNanos());
		for (int i = 1; i <= 10 * names; i++) {
			full.findKey(new Name(-i, failures));
		}
		assertThat(full.findKey(last)).as("it was forgotten").isNotNull().isNotSameAs(acquired.get(known));
	}

	@Test
	void nothingIsSuspendedTwiceOrWhileTheServerDrains() {
		try (ClientLimiters limiters = new ClientLimiters((connection) -> "4711", this.clock::get)) {
			ClientLimits limits = new ClientLimits(Map.of(Limit.MESSAGES_PER_SECOND, 1L), Action.SUSPEND);
			ClientLimiter limiter = limiters.add("test", false, limits, 10, 32, 64);
			Client owing = limiter.table().acquireKey("4711");
			assertThat(owing).isNotNull();
			owing.take(limits, 1);
			owing.take(limits, 1);
			Connection suspended = connection();
			assertThat(opened(limiter).begins(suspended)).isTrue();
			then(suspended).should().suspend();
			Connection draining = connection();
			given(draining.isDraining()).willReturn(true);
			LimitedConnection limited = opened(limiter);
			assertThat(limited.begins(draining)).isTrue();
			assertThat(limited.takes(draining, 1)).isTrue();
			then(draining).should(never()).suspend();
		}
	}

	/** Other connections of the client may exceed its limits again and again. */
	@Test
	void aSuspensionEndsWhenItsTimeIsOverOrWithTheTimer() {
		LongSupplier forever = () -> Long.MAX_VALUE;
		try (SuspensionTimer timer = new SuspensionTimer()) {
			SuspensionTimer.Pause brief = timer.suspend(connection(), 1, forever);
			Awaitility.await().atMost(Duration.ofSeconds(60)).until(brief::isOver);
			SuspensionTimer.Pause open = timer.suspend(connection(), Long.MAX_VALUE / 2, forever);
			assertThat(open.isOver()).isFalse();
			timer.close();
			assertThat(timer.suspend(connection(), Long.MAX_VALUE / 2, forever).isOver()).isTrue();
		}
	}

	private static LimitedConnection opened(ClientLimiter limiter) {
		return opened(limiter, new InetSocketAddress(InetAddress.getLoopbackAddress(), 1));
	}

	private static LimitedConnection opened(ClientLimiter limiter, InetSocketAddress address) {
		Permit permit = limiter.admit(address);
		assertThat(permit).isNotNull();
		permit.opened(connection());
		return (LimitedConnection) permit;
	}

}
