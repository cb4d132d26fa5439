package org.leaderfollowers;

import java.nio.channels.SelectionKey;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.logging.EngineLog;

/**
 * The pools of a server that a {@link ServiceClass} chooses from, except the server's
 * own. Any thread.
 */
final class ServicePools {

	private static final long ABORT_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

	/** The context of new connections. */
	private final ConnectionContext first;

	private final List<Guests> guests;

	/**
	 * The options of a server.
	 *
	 * @param serviceClass chooses the pool of a connection
	 * @param pools the pools to choose from; the server's own pool may be among them
	 */
	record Options(ServiceClass serviceClass, List<LeaderFollowersPool> pools) {

		/** The largest number of handle sets of a pool. */
		static int handleSets(LeaderFollowersPool own, @Nullable Options options) {
			Stream<LeaderFollowersPool> others = (options != null) ? options.pools().stream() : Stream.empty();
			return Stream.concat(Stream.of(own), others)
				.mapToInt((pool) -> pool.handleSets().count())
				.max()
				.orElseThrow();
		}

	}

	/**
	 * Creates the pools of a server.
	 * @param ownPool the server's own pool
	 * @param own the context of connections in that pool
	 * @param options the options, or {@code null} if all connections stay in that pool
	 * @throws IllegalArgumentException if two pools have the same name
	 */
	ServicePools(LeaderFollowersPool ownPool, ConnectionContext own, String handlerName, @Nullable Options options) {
		if (options == null) {
			this.first = own;
			this.guests = List.of();
			return;
		}
		Map<String, Guests> guestsByPool = new LinkedHashMap<>();
		for (LeaderFollowersPool pool : options.pools()) {
			Guests former = (pool == ownPool) ? null
					: guestsByPool.put(pool.name(), new Guests(pool, contextIn(pool, own, handlerName), own.memory()));
			boolean isNamesake = former != null && former.pool != pool;
			if (isNamesake || (pool != ownPool && pool.name().equals(ownPool.name()))) {
				throw new IllegalArgumentException(
						"The pools of server '%s' must have different names, but two are named '%s'"
							.formatted(own.server().name(), pool.name()));
			}
		}
		Map<String, ConnectionContext> contexts = new LinkedHashMap<>();
		contexts.put(ownPool.name(), own);
		guestsByPool.forEach((name, each) -> contexts.put(name, each.context));
		this.guests = List.copyOf(guestsByPool.values());
		this.first = ServiceClasses.before(options.serviceClass(), Map.copyOf(contexts), own);
	}

	private static ConnectionContext contextIn(LeaderFollowersPool pool, ConnectionContext own, String handlerName) {
		return own.in(new PoolHandles(pool, SelectionKey.OP_READ), pool.clock, pool.memory(),
				new ServerWarnings(own.server().name(), handlerName, pool.name()));
	}

	ConnectionContext first() {
		return this.first;
	}

	/** Makes each pool drain its connections when it is closed before the server. */
	void begin() {
		this.guests.forEach((each) -> {
			each.pool.memory().add(each.memory());
			each.pool.serves(each);
		});
	}

	/** The server is closed. */
	void end() {
		this.guests.forEach((each) -> {
			each.pool.memory().remove(each.memory());
			each.pool.servesNoMore(each);
		});
	}

	/** A connection was closed. */
	void changed() {
		this.guests.forEach((each) -> each.context.server().changed());
	}

	/**
	 * The connections of the server in another pool than its own. They have a state of
	 * their own, because they drain if either the server or that pool is closed.
	 */
	private static final class Guests implements Drainable {

		private final LeaderFollowersPool pool;

		private final ConnectionContext context;

		/** The budget of the pool that they come from. */
		private final MemoryBudget former;

		Guests(LeaderFollowersPool pool, ConnectionContext context, MemoryBudget former) {
			this.pool = pool;
			this.context = context;
			this.former = former;
		}

		private ConnectionMemory.All memory() {
			return new ConnectionMemory.All(this.context.registry(), this.pool.memory(), this.former);
		}

		@Override
		public void beginDrain(long deadlineNanos) {
			this.context.server().drain();
			connections().forEach(TcpConnection::drain);
		}

		@Override
		public boolean close(Duration grace) {
			beginDrain(0);
			if (awaitRest(System.nanoTime() + Arguments.nanos(grace))) {
				return true;
			}
			EngineLog.INSTANCE.warn(
					"Pool '{}' is closed although {} connections of server '{}' had not finished; replies may be lost",
					this.pool.name(), connections().count(), this.context.server().name());
			connections().forEach(TcpConnection::abort);
			if (!awaitRest(System.nanoTime() + ABORT_NANOS)) {
				connections().forEach(TcpConnection::abandon);
			}
			return false;
		}

		private boolean awaitRest(long deadlineNanos) {
			Participant me = Participant.current();
			SelectableHandle handle = (me != null) ? me.handle() : null;
			boolean own = handle != null && handle.handler instanceof TcpConnection connection && isHere(connection);
			return this.context.server().awaitRest(this::isAtRest, own, deadlineNanos);
		}

		/**
		 * A handler may be waiting, and its connection does not end before it returns.
		 */
		private boolean isAtRest(int exceptHandlers) {
			return connections().mapToInt(TcpConnection::undone).sum() <= exceptHandlers;
		}

		private Stream<TcpConnection> connections() {
			return this.context.registry().all().stream().filter(this::isHere);
		}

		private boolean isHere(TcpConnection connection) {
			return connection.context == this.context;
		}

	}

}
