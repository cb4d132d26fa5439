package org.leaderfollowers.spring.cluster;

import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.BooleanSupplier;

import org.leaderfollowers.spring.handler.MessageConversion;
import org.leaderfollowers.spring.session.LfSessions;
import org.leaderfollowers.spring.session.SessionDirectory;
import org.leaderfollowers.spring.session.SessionOptions;

import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.messaging.converter.MessageConverter;

/** A node of a {@link SimulatedCluster}: everything but the engine is real. */
final class SimulatedNode {

	/** Of the engine; nothing in a simulation takes as long in real time. */
	static final Duration FOREVER = Duration.ofHours(1);

	static final Duration LEASE = Duration.ofSeconds(10);

	/** Of messages to other nodes, by the clock of the simulation. */
	static final Duration TIMEOUT = Duration.ofMinutes(2);

	final SimulatedCluster.Node engine;

	final LfSessions sessions;

	/** What the timer does once, soon. */
	private final List<Runnable> soon = new ArrayList<>();

	/** What the timer repeats. */
	private final List<Runnable> timer = new ArrayList<>();

	private final BooleanSupplier otherWork;

	boolean dead;

	SimulatedNode(SimulatedCluster cluster, String name, BooleanSupplier otherWork) {
		this.engine = cluster.node();
		this.otherWork = otherWork;
		ScheduledExecutorService scheduled = (ScheduledExecutorService) Proxy.newProxyInstance(
				getClass().getClassLoader(), new Class<?>[] { ScheduledExecutorService.class },
				(proxy, method, arguments) -> {
					if (method.getName().equals("schedule")) {
						this.soon.add((Runnable) arguments[0]);
					}
					if (method.getName().equals("scheduleAtFixedRate")) {
						this.timer.add((Runnable) arguments[0]);
					}
					return method.getName().equals("shutdownNow") ? List.of() : null;
				});
		ClusterSessionDirectory directory = new ClusterSessionDirectory(this.engine,
				new ClusterOptions(name, LEASE, Duration.ofMinutes(1), FOREVER, 100, Long.MAX_VALUE), scheduled,
				() -> cluster.now);
		DefaultListableBeanFactory beans = new DefaultListableBeanFactory();
		this.sessions = new LfSessions(blocking(directory, cluster), new SessionOptions(100, 1000, FOREVER, TIMEOUT),
				new MessageConversion((server) -> StandardCharsets.UTF_8, beans,
						beans.getBeanProvider(MessageConverter.class)),
				() -> Set.of("default"), (event) -> {
				});
	}

	/** Whoever waits for a claim lets the simulation go on, and with it other logins. */
	private SessionDirectory blocking(ClusterSessionDirectory directory, SimulatedCluster cluster) {
		return (SessionDirectory) Proxy.newProxyInstance(SimulatedNode.class.getClassLoader(),
				new Class<?>[] { SessionDirectory.class }, (proxy, method, arguments) -> {
					if (method.getName().equals("send") || method.getName().equals("exchange")) {
						cluster.sends((ByteBuffer) arguments[1], (Duration) arguments[2]);
					}
					Object result = method.invoke(directory, arguments);
					return method.getName().equals("claim") ? waiting((CompletableFuture<?>) result) : result;
				});
	}

	void start() {
		// The directory waits for its first renewal, which only the test can let happen.
		Thread.currentThread().interrupt();
		this.sessions.afterPropertiesSet();
		Thread.interrupted();
	}

	/** Renews the lease and looks at the others. */
	void renew() {
		if (!this.engine.paused) {
			this.timer.get(0).run();
			List<Runnable> due = List.copyOf(this.soon);
			this.soon.clear();
			due.forEach(Runnable::run);
		}
	}

	/** Compares the sessions with their entries. */
	void verify() {
		if (!this.engine.paused) {
			this.timer.get(1).run();
		}
	}

	boolean works() {
		return !this.dead && !this.engine.paused;
	}

	private <T> Waiting<T> waiting(CompletableFuture<T> future) {
		Waiting<T> waiting = new Waiting<>();
		future.whenComplete((value, failure) -> {
			if (failure != null) {
				waiting.completeExceptionally(failure);
			}
			else {
				waiting.complete(value);
			}
		});
		return waiting;
	}

	private final class Waiting<T> extends CompletableFuture<T> {

		@Override
		public T join() {
			for (int steps = 0; !isDone(); steps++) {
				if (SimulatedNode.this.dead) {
					throw new DeadException();
				}
				if (!SimulatedNode.this.otherWork.getAsBoolean()) {
					throw new AssertionError("A claim waits for nothing");
				}
				if (steps > 1_000_000) {
					throw new AssertionError("A claim does not end");
				}
			}
			return super.join();
		}

	}

	/** The process of the caller has ended. */
	@SuppressWarnings("serial")
	static final class DeadException extends RuntimeException {

	}

}
