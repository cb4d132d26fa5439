package org.leaderfollowers.spring.server;

import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.StreamSupport;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.PoolAlarm;
import org.leaderfollowers.PoolListener;
import org.leaderfollowers.PromotionKind;
import org.leaderfollowers.spring.event.ConnectionClosedEvent;
import org.leaderfollowers.spring.event.ConnectionFailedEvent;
import org.leaderfollowers.spring.event.ConnectionOpenedEvent;
import org.leaderfollowers.spring.event.PoolAlarmEvent;
import org.leaderfollowers.spring.event.PoolStarvedEvent;
import org.leaderfollowers.spring.interceptor.MessageHandlerInterceptor;

import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.event.ApplicationEventMulticaster;
import org.springframework.context.event.GenericApplicationListener;
import org.springframework.context.event.GenericApplicationListenerAdapter;
import org.springframework.context.support.AbstractApplicationContext;
import org.springframework.core.ResolvableType;

/**
 * Publishes events in an application context. Frequent events are published only if there
 * is a listener for them. As an interceptor, it publishes the events of connections after
 * their handler was called.
 */
final class EventPublication implements MessageHandlerInterceptor {

	private static final ResolvableType UNRELATED = ResolvableType.forClass(UnrelatedEvent.class);

	private final @Nullable ApplicationContext applicationContext;

	/**
	 * The pools that have a listener already. Pools are not replaced when the context is
	 * stopped and started again.
	 */
	private final Set<LeaderFollowersPool> watched = new HashSet<>();

	private volatile boolean listenersKnown;

	/**
	 * Creates a publisher.
	 * @param applicationContext the context whose listeners, and those of its parents,
	 * receive the events; {@code null} to publish nothing
	 */
	EventPublication(@Nullable ApplicationContext applicationContext) {
		this.applicationContext = applicationContext;
	}

	/**
	 * Publishes an event. This thread calls the listeners, unless the application is
	 * configured otherwise.
	 */
	void publish(ApplicationEvent event) {
		if (this.applicationContext != null) {
			this.applicationContext.publishEvent(event);
		}
	}

	/**
	 * Called when the beans of the context have been created, so that all listeners are
	 * known. Until then, every event is assumed to have listeners.
	 */
	void listenersAreKnown() {
		this.listenersKnown = true;
	}

	/**
	 * Whether there is a listener for this type of event, not counting listeners for
	 * every event.
	 */
	private boolean isHeard(Class<? extends ApplicationEvent> type) {
		if (!this.listenersKnown) {
			return this.applicationContext != null;
		}
		ResolvableType event = ResolvableType.forClass(type);
		for (ApplicationContext context = this.applicationContext; context != null; context = context.getParent()) {
			if (!(context instanceof AbstractApplicationContext known)) {
				// Such a context does not give access to its listeners.
				return true;
			}
			for (ApplicationListener<?> listener : known.getApplicationListeners()) {
				GenericApplicationListener generic = (listener instanceof GenericApplicationListener itself) ? itself
						: new GenericApplicationListenerAdapter(listener);
				if (generic.supportsEventType(event) && !generic.supportsEventType(UNRELATED)) {
					return true;
				}
			}
		}
		return false;
	}

	@Override
	public boolean supports(String server) {
		return isHeard(ConnectionOpenedEvent.class) || isHeard(ConnectionClosedEvent.class)
				|| isHeard(ConnectionFailedEvent.class);
	}

	@Override
	public void onOpen(Connection connection, MessageHandler next) throws Exception {
		next.onOpen(connection);
		publish(new ConnectionOpenedEvent(connection));
	}

	@Override
	public void onClose(Connection connection, CloseReason reason, MessageHandler next) throws Exception {
		try {
			next.onClose(connection, reason);
		}
		finally {
			publish(new ConnectionClosedEvent(connection, reason));
		}
	}

	@Override
	public void onError(Connection connection, Throwable failure, MessageHandler next) throws Exception {
		try {
			next.onError(connection, failure);
		}
		finally {
			publish(new ConnectionFailedEvent(connection, failure));
		}
	}

	/**
	 * If there is a listener for it, publishes an event from now on whenever a pool is
	 * starved or raises an alarm.
	 */
	void watch(LeaderFollowersPool pool) {
		if (isHeard(PoolStarvedEvent.class) || isHeard(PoolAlarmEvent.class)) {
			synchronized (this.watched) {
				if (this.watched.add(pool)) {
					pool.addListener(new TroubleListener(pool, isOfParent(pool)));
				}
			}
		}
	}

	/**
	 * {@linkplain #watch Watches} all pools of the context that have been built, also
	 * those that only serve classes of connections.
	 */
	void watchPools() {
		if (this.applicationContext != null) {
			this.applicationContext.getBeanProvider(LeaderFollowersPools.class)
				.forEach((pools) -> pools.forEach(this::watch));
		}
	}

	/** Whether a parent has the pool too, and publishes its events to its listeners. */
	private boolean isOfParent(LeaderFollowersPool pool) {
		ApplicationContext parent = (this.applicationContext != null) ? this.applicationContext.getParent() : null;
		return parent != null && parent.getBeanProvider(LeaderFollowersPools.class)
			.stream()
			.flatMap((pools) -> StreamSupport.stream(pools.spliterator(), false))
			.anyMatch((each) -> each == pool);
	}

	/** Publishes an event to the listeners of this context, but not of its parents. */
	private void publishHere(ApplicationEvent event) {
		if (this.applicationContext instanceof ConfigurableApplicationContext context && context.isActive()) {
			context
				.getBean(AbstractApplicationContext.APPLICATION_EVENT_MULTICASTER_BEAN_NAME,
						ApplicationEventMulticaster.class)
				.multicastEvent(event);
		}
	}

	private final class TroubleListener implements PoolListener {

		private final LeaderFollowersPool pool;

		private final Consumer<ApplicationEvent> publisher;

		private TroubleListener(LeaderFollowersPool pool, boolean ofParent) {
			this.pool = pool;
			this.publisher = ofParent ? EventPublication.this::publishHere : EventPublication.this::publish;
		}

		@Override
		public void handedOff(PromotionKind kind, long vacancyNanos) {
		}

		@Override
		public void starved(long nanos) {
			this.publisher.accept(new PoolStarvedEvent(this.pool, Duration.ofNanos(nanos)));
		}

		@Override
		public void alarmed(PoolAlarm alarm) {
			this.publisher.accept(new PoolAlarmEvent(this.pool, alarm));
		}

	}

	/** An event that only listeners for every event receive. */
	@SuppressWarnings("serial")
	private static final class UnrelatedEvent extends ApplicationEvent {

		private UnrelatedEvent(Object source) {
			super(source);
		}

	}

}
