package org.leaderfollowers.spring.cluster;

import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.session.SessionEntry;

/**
 * An engine that answers at once, except for the operations that it does not answer or
 * that fail. It remembers what it was asked.
 */
final class ScriptedEngine implements ClusterEngine {

	/** The node under test. */
	static final String SELF = "self";

	/** How many bytes may wait for another node. */
	static final int MAX_OUTBOUND_SIZE = 10_000;

	/** Operations that get no answer. */
	final Set<String> silent = new HashSet<>();

	/** Keys whose values are not found out. */
	final Set<String> unanswered = new HashSet<>();

	/** Operations that another thread answers, a little later. */
	final Set<String> late = new HashSet<>();

	/** Operations that fail. */
	final Map<String, RuntimeException> failing = new HashMap<>();

	/** What the next message meets. */
	@Nullable Error thrown;

	/** What the next task meets that the timer is to do once. */
	@Nullable Error unscheduled;

	/** The futures of operations that got no answer, in order. */
	final List<Asked<?>> asked = new ArrayList<>();

	final Map<String, byte[]> values = new HashMap<>();

	/** How long values are kept. */
	final Set<Duration> lifetimes = new HashSet<>();

	/** The keys that were read, in order. */
	final List<String> read = new ArrayList<>();

	/** The keys that were touched together. */
	final List<List<String>> touched = new ArrayList<>();

	final List<SessionEntry> written = new ArrayList<>();

	final Map<String, byte[]> nodes = new LinkedHashMap<>();

	final List<NodeMessage> sent = new ArrayList<>();

	final List<String> sentTo = new ArrayList<>();

	/** What the node has told of itself. */
	byte[] description;

	/** The time that it tells. */
	long millis = 1_000_000;

	/** The clock of the node, as {@link System#nanoTime()}. */
	long nanos;

	/** What the timer repeats: the renewal and the verification. */
	final List<Runnable> timer = new ArrayList<>();

	/** After how many milliseconds the timer begins with these, and repeats them. */
	final List<List<?>> intervals = new ArrayList<>();

	/** What the timer does once. */
	final List<Runnable> soon = new ArrayList<>();

	/** After how many milliseconds. */
	final List<Object> delays = new ArrayList<>();

	/** What was stopped, in order. */
	final List<String> stopped = new ArrayList<>();

	ClusterEngine.Receiver receiver;

	/** An operation that can be answered later. */
	record Asked<T>(Supplier<T> operation, CompletableFuture<T> future) {

		void answer() {
			this.future.complete(this.operation.get());
		}

	}

	/** Creates a directory of a node that has not started. */
	ClusterSessionDirectory directory(Duration timeout, int maxCachedNames) {
		ScheduledExecutorService scheduled = (ScheduledExecutorService) Proxy.newProxyInstance(
				getClass().getClassLoader(), new Class<?>[] { ScheduledExecutorService.class },
				(proxy, method, arguments) -> {
					if (method.getName().equals("scheduleAtFixedRate")) {
						this.timer.add((Runnable) arguments[0]);
						this.intervals.add(List.of(arguments[1], arguments[2]));
					}
					if (method.getName().equals("schedule")) {
						Error failure = this.unscheduled;
						this.unscheduled = null;
						if (failure != null) {
							throw failure;
						}
						this.soon.add((Runnable) arguments[0]);
						this.delays.add(arguments[1]);
					}
					if (method.getName().equals("shutdownNow")) {
						this.stopped.add("timer");
						return List.of();
					}
					return null;
				});
		return new ClusterSessionDirectory(this, new ClusterOptions(SELF, Duration.ofSeconds(10), Duration.ofMinutes(1),
				timeout, maxCachedNames, MAX_OUTBOUND_SIZE), scheduled, () -> this.nanos);
	}

	void renew() {
		this.timer.get(0).run();
	}

	void verify() {
		this.timer.get(1).run();
	}

	/** Time passes, for this engine and the node. */
	void pass(Duration time) {
		this.nanos += time.toNanos();
		this.millis += time.toMillis();
	}

	private <T extends @Nullable Object> CompletableFuture<T> ask(String name, Supplier<T> operation) {
		if (this.silent.contains(name)) {
			Asked<T> next = new Asked<>(operation, new CompletableFuture<>());
			this.asked.add(next);
			return next.future;
		}
		if (this.late.contains(name)) {
			return CompletableFuture.supplyAsync(operation,
					CompletableFuture.delayedExecutor(50, TimeUnit.MILLISECONDS));
		}
		RuntimeException failure = this.failing.get(name);
		return (failure != null) ? CompletableFuture.failedFuture(failure)
				: CompletableFuture.completedFuture(operation.get());
	}

	@Override
	public String name() {
		return "The test";
	}

	@Override
	public String start(String node, Receiver ofNode) {
		this.receiver = ofNode;
		return SELF;
	}

	@Override
	public void stop() {
		this.stopped.add("engine");
	}

	@Override
	public Map<String, CompletableFuture<byte @Nullable []>> touch(Collection<String> keys, Duration timeToLive) {
		this.touched.add(List.copyOf(keys));
		this.lifetimes.add(timeToLive);
		Map<String, CompletableFuture<byte @Nullable []>> found = new LinkedHashMap<>();
		for (String key : keys) {
			found.put(key, this.unanswered.contains(key) ? new CompletableFuture<>()
					: ask("touch", () -> this.values.get(key)));
		}
		return found;
	}

	@Override
	public CompletableFuture<byte @Nullable []> get(String key) {
		this.read.add(key);
		return ask("get", () -> this.values.get(key));
	}

	@Override
	public CompletableFuture<Boolean> compareAndSet(String key, byte @Nullable [] expected, byte @Nullable [] update,
			Duration timeToLive) {
		this.written.add(WireForm.entryOrNull(key, update));
		this.lifetimes.add(timeToLive);
		return ask("compareAndSet", () -> {
			boolean isExpected = Arrays.equals(this.values.get(key), expected);
			if (isExpected && update != null) {
				this.values.put(key, update);
			}
			else if (isExpected) {
				this.values.remove(key);
			}
			return isExpected;
		});
	}

	@Override
	public CompletableFuture<Long> renew(byte[] ofNode, Duration lease) {
		this.description = ofNode;
		return ask("renew", () -> this.millis);
	}

	@Override
	public CompletableFuture<Map<String, byte[]>> nodes() {
		Map<String, byte[]> now = new LinkedHashMap<>(this.nodes);
		return ask("nodes", () -> now);
	}

	@Override
	public CompletableFuture<Void> send(String node, byte[] message) {
		this.sentTo.add(node);
		this.sent.add(WireForm.message(message));
		Error error = this.thrown;
		if (error != null) {
			throw error;
		}
		return ask("send", () -> null);
	}

}
