package org.leaderfollowers.spring.session;

import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ExchangeLostException;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.ExchangeTimeoutException;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.StackReserve;
import org.leaderfollowers.spring.handler.LfConnections.Delivery;
import org.leaderfollowers.spring.internal.Printable;

import org.springframework.util.Assert;

/**
 * Finds the way of a message to the holder of a name.
 */
final class SessionRouter {

	/** How often a name is looked up if it moves from node to node meanwhile. */
	private static final int ATTEMPTS = 3;

	private final SessionBindings bindings;

	private final SessionDirectory directory;

	private final SessionCounters counters;

	SessionRouter(SessionBindings bindings, SessionDirectory directory, SessionCounters counters) {
		this.bindings = bindings;
		this.directory = directory;
		this.counters = counters;
	}

	/**
	 * Calls the holder of a name. If another node refuses because the name has moved
	 * meanwhile, the new holder is called: nothing was sent before.
	 * @param here what to do if this node holds the name
	 * @param there what to do if another node holds the name
	 * @return the result; an {@link AbsentException} if nobody holds the name
	 */
	<R> CompletableFuture<R> route(String name, Function<Connection, CompletableFuture<R>> here,
			Function<SessionEntry, CompletableFuture<R>> there) {
		Assert.hasText(name, "'name' must not be blank");
		CompletableFuture<R> result = attempt(new Route<>(name, here, there), ATTEMPTS);
		result.whenComplete((value, failure) -> {
			if (failure != null) {
				this.counters.failed();
			}
		});
		return result;
	}

	private <R> CompletableFuture<R> attempt(Route<R> route, int attempts) {
		LocalSession local = this.bindings.local(route.name);
		if (local != null) {
			this.counters.message(true);
			return call(route.here, local.connection());
		}
		StackReserve.requireForLibrary();
		return this.directory.locate(route.name).thenCompose((entry) -> {
			if (entry == null || attempts == 0) {
				return CompletableFuture.failedFuture(new AbsentException(route.name));
			}
			if (entry.node().equals(this.directory.node())) {
				// The connection has just ended, or is being bound.
				return attempt(route, 0);
			}
			return call(route.there, entry)
				.handle((result, failure) -> next(route, attempts - 1, result, unwrap(failure)))
				.thenCompose(Function.identity());
		});
	}

	private <R> CompletableFuture<R> next(Route<R> route, int attempts, R result, @Nullable Throwable failure) {
		if (failure instanceof StaleSessionException) {
			return attempt(route, attempts);
		}
		this.counters.message(false);
		return (failure != null) ? CompletableFuture.failedFuture(failure) : CompletableFuture.completedFuture(result);
	}

	private static <T, R> CompletableFuture<R> call(Function<T, CompletableFuture<R>> target, T holder) {
		try {
			return target.apply(holder);
		}
		catch (RuntimeException ex) {
			return CompletableFuture.failedFuture(ex);
		}
	}

	CompletableFuture<@Nullable SessionEntry> find(String name) {
		Assert.hasText(name, "'name' must not be blank");
		StackReserve.requireForLibrary();
		return this.directory.find(name);
	}

	CompletableFuture<SessionBroadcast> broadcast(@Nullable String group, Map<Charset, ByteBuffer> messages,
			Duration timeout) {
		StackReserve.requireForLibrary();
		return this.directory.broadcast(group, messages, timeout);
	}

	static @Nullable Throwable unwrap(@Nullable Throwable failure) {
		return (failure instanceof CompletionException && failure.getCause() != null) ? failure.getCause() : failure;
	}

	/** A time in nanoseconds, shortened to almost 300 years if it is longer. */
	static long nanos(Duration duration) {
		return TimeUnit.NANOSECONDS.convert(duration);
	}

	/** The time until a deadline by {@link System#nanoTime()}. */
	static Duration left(long deadline) {
		long left = deadline - System.nanoTime();
		if (left <= 0) {
			throw new ExchangeRejectedException("Finding the client took too long, so nothing was sent", null);
		}
		return Duration.ofNanos(left);
	}

	/**
	 * Checks that the caller still waits: another node may have refused so late that the
	 * caller has been told that the outcome is unknown.
	 */
	static void requireTimeLeft(long deadline) {
		left(deadline);
	}

	/** Limits the time of an exchange, of which finding the client is a part. */
	static <R> CompletableFuture<R> within(Duration timeout, CompletableFuture<R> exchange) {
		return exchange.orTimeout(nanos(timeout), TimeUnit.NANOSECONDS).exceptionally((failure) -> {
			Throwable cause = unwrap(failure);
			throw new CompletionException((cause instanceof TimeoutException)
					? new ExchangeTimeoutException("No reply came within %s".formatted(timeout), cause) : cause);
		});
	}

	/** Says what became of a message, if that is known of the failure. */
	static Delivery undelivered(Throwable failure) {
		Throwable cause = unwrap(failure);
		if (cause instanceof AbsentException) {
			return Delivery.GONE;
		}
		if (cause instanceof ExchangeRejectedException) {
			return Delivery.UNREACHABLE;
		}
		if (cause instanceof ExchangeTimeoutException || cause instanceof ExchangeLostException) {
			return Delivery.UNKNOWN;
		}
		throw new CompletionException(cause);
	}

	/**
	 * Waits for a result of another node. A thread of a pool can lead meanwhile: the
	 * other node may wait for a reply that this thread has to read.
	 * @throws ExchangeTimeoutException if it does not come in time
	 * @throws ExchangeLostException if this thread is interrupted
	 */
	static <R> R await(CompletableFuture<R> future, Duration timeout) {
		try {
			return LeaderFollowersPool.await(future, timeout, "another node");
		}
		catch (TimeoutException ex) {
			future.cancel(false);
			throw new ExchangeTimeoutException("Other nodes have not answered within %s".formatted(timeout), ex);
		}
		catch (InterruptedException ex) {
			future.cancel(false);
			Thread.currentThread().interrupt();
			throw new ExchangeLostException("Interrupted while waiting for another node", ex);
		}
		catch (ExecutionException ex) {
			if (ex.getCause() instanceof RuntimeException unchecked) {
				throw unchecked;
			}
			if (ex.getCause() instanceof Error error) {
				throw error;
			}
			throw new IllegalStateException(ex.getCause());
		}
	}

	private record Route<R>(String name, Function<Connection, CompletableFuture<R>> here,
			Function<SessionEntry, CompletableFuture<R>> there) {
	}

	/** Nobody holds a name. */
	@SuppressWarnings("serial")
	static final class AbsentException extends ExchangeRejectedException {

		private AbsentException(String name) {
			super("No client has logged in as '%s', so nothing was sent".formatted(Printable.of(name)), null);
		}

	}

}
