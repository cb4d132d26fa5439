package org.leaderfollowers.spring.event;

import java.util.HashSet;
import java.util.Set;

import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;

import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.context.event.GenericApplicationListener;
import org.springframework.context.event.GenericApplicationListenerAdapter;
import org.springframework.context.support.AbstractApplicationContext;
import org.springframework.core.ResolvableType;
import org.springframework.util.Assert;

/**
 * Publishes events in an application context. Those that are frequent are published only
 * if somebody listens to them.
 */
public final class EventPublication {

	private static final ResolvableType UNRELATED = ResolvableType.forClass(UnrelatedEvent.class);

	private final ApplicationContext applicationContext;

	/** Pools outlive a stop of the context. */
	private final Set<LeaderFollowersPool> watched = new HashSet<>();

	private volatile boolean listenersKnown;

	/**
	 * Creates a new publication.
	 * @param applicationContext the context whose listeners, and those of its parents,
	 * are told
	 */
	public EventPublication(ApplicationContext applicationContext) {
		Assert.notNull(applicationContext, "'applicationContext' must not be null");
		this.applicationContext = applicationContext;
	}

	/**
	 * Publishes an event. The listeners are called by this thread, unless the application
	 * has decided otherwise.
	 * @param event the event
	 */
	public void publish(ApplicationEvent event) {
		this.applicationContext.publishEvent(event);
	}

	/**
	 * To be called when the beans of the context have been created, and so all listeners
	 * are known. Until then, everybody is assumed to be heard.
	 */
	public void listenersAreKnown() {
		this.listenersKnown = true;
	}

	/**
	 * Asks whether somebody listens to a type of event in particular, not just to every
	 * event that there is.
	 * @param type the type of the event
	 * @return whether there is such a listener now
	 */
	public boolean isHeard(Class<? extends ApplicationEvent> type) {
		if (!this.listenersKnown) {
			return true;
		}
		ResolvableType event = ResolvableType.forClass(type);
		for (ApplicationContext context = this.applicationContext; context != null; context = context.getParent()) {
			if (!(context instanceof AbstractApplicationContext known)) {
				// Whom it tells is its secret.
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

	/**
	 * Lets a handler publish the events of its connections, if somebody listens to them.
	 * @param handler the handler of a server
	 * @return what the server is to call
	 */
	public MessageHandler decorate(MessageHandler handler) {
		boolean heard = isHeard(ConnectionOpenedEvent.class) || isHeard(ConnectionClosedEvent.class)
				|| isHeard(ConnectionFailedEvent.class);
		return heard ? new PublishingMessageHandler(handler, this) : handler;
	}

	/**
	 * Publishes that a pool is starved, from now on, if somebody listens to it.
	 * @param pool the pool
	 */
	public void watch(LeaderFollowersPool pool) {
		if (isHeard(PoolStarvedEvent.class)) {
			synchronized (this.watched) {
				if (this.watched.add(pool)) {
					pool.addListener(new StarvationPublication(pool, this));
				}
			}
		}
	}

	/**
	 * Heard only by those who listen to everything.
	 */
	@SuppressWarnings("serial")
	private static final class UnrelatedEvent extends ApplicationEvent {

		private UnrelatedEvent(Object source) {
			super(source);
		}

	}

}
