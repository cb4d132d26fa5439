package org.leaderfollowers.spring.autoconfigure;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.leaderfollowers.EventSource;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Source;
import org.leaderfollowers.spring.handler.HandlerBeans;
import org.leaderfollowers.spring.handler.HandlerBeans.HandlerBean;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.UnknownNameException;
import org.leaderfollowers.spring.server.UnknownNameException.Kind;

import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.SmartLifecycle;
import org.springframework.core.ResolvableType;
import org.springframework.core.env.Environment;

/**
 * Finds the beans that are event sources, and connects them to their handlers and pools.
 * The pools wait on them after the servers have been started, until they are drained.
 */
final class SourceAssembly implements SmartLifecycle {

	/** The phase in which servers are drained, which is after their start. */
	private static final int PHASE = SmartLifecycle.DEFAULT_PHASE - 1024;

	private final List<Registration> registrations;

	private final Duration grace;

	private volatile boolean running;

	private SourceAssembly(List<Registration> registrations, Duration grace) {
		this.registrations = registrations;
		this.grace = grace;
	}

	/** The names of the event sources that a pool waits on. Creates no bean. */
	static List<String> namesOf(String pool, ConfigurableListableBeanFactory beanFactory, LfProperties properties) {
		return names(beanFactory).stream().filter((name) -> poolOf(name, properties).equals(pool)).toList();
	}

	private static List<String> names(ConfigurableListableBeanFactory beanFactory) {
		return List.of(beanFactory.getBeanNamesForType(EventSource.class, true, false));
	}

	private static String poolOf(String name, LfProperties properties) {
		return properties(name, properties).values().pool();
	}

	private static ConfiguredProperties<Source> properties(String name, LfProperties properties) {
		Source source = properties.sources().get(name);
		String prefix = "lf.sources." + name;
		return (source != null) ? new ConfiguredProperties<>(prefix, source)
				: ConfiguredProperties.defaults(prefix, Source.class);
	}

	static SmartLifecycle lifecycle(ConfigurableListableBeanFactory beanFactory, LfProperties properties,
			LeaderFollowersPools pools, HandlerBeans handlerBeans) {
		List<String> names = names(beanFactory);
		Map<String, List<HandlerBean>> handlers = new LinkedHashMap<>(handlerBeans.findBySource());
		handlers.forEach((name, beans) -> requireSource(name, names, beans.get(0).toString()));
		// A child context has the properties of its parent, but not its sources.
		List<String> known = List
			.of(BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beanFactory, EventSource.class, true, false));
		properties.sources().keySet().forEach((name) -> requireSource(name, known, "lf.sources." + name));
		Set<String> poolBeans = new LinkedHashSet<>();
		for (Class<?> type : List.of(LeaderFollowersPool.class, LeaderFollowersPools.class)) {
			poolBeans.addAll(List.of(beanFactory.getBeanNamesForType(type, true, false)));
		}
		List<Registration> registrations = new ArrayList<>();
		for (String name : names) {
			HandlerBean handler = handlerBeans.singleOfSource(name, handlers.getOrDefault(name, List.of()));
			Registration registration = registration(name, beanFactory, properties(name, properties), pools, handler);
			registrations.add(properties.logging().mdc() ? registration.withLoggingContext() : registration);
			// Threads that wait on a source end before the source is destroyed.
			poolBeans.forEach((pool) -> beanFactory.registerDependentBean(name, pool));
		}
		return new SourceAssembly(List.copyOf(registrations),
				ShutdownPropertiesMapper.phaseTimeout(beanFactory.getBean(Environment.class)));
	}

	private static void requireSource(String name, List<String> names, String reference) {
		if (!names.contains(name)) {
			throw new UnknownNameException(Kind.EVENT_SOURCE, name, names, reference);
		}
	}

	@SuppressWarnings("unchecked") // the handler was checked against the type of the
									// events
	private static Registration registration(String name, ConfigurableListableBeanFactory beanFactory,
			ConfiguredProperties<Source> properties, LeaderFollowersPools pools, HandlerBean handler) {
		String pool = properties.values().pool();
		if (!pools.names().contains(pool)) {
			throw new UnknownNameException(Kind.POOL, pool, pools.names(), properties.key("pool"));
		}
		Integer concurrency = properties.values().concurrency();
		if (concurrency != null && concurrency < 1) {
			throw properties.invalid("concurrency", concurrency, "Must be at least 1.");
		}
		EventSource<Object> source = beanFactory.getBean(name, EventSource.class);
		return new Registration(name, pools.get(pool), source, (concurrency != null) ? concurrency : Integer.MAX_VALUE,
				handler.createForSource(typeOfEvents(name, source, beanFactory)));
	}

	/** Determined from the definition of the bean or its class, as far as possible. */
	private static Class<?> typeOfEvents(String name, EventSource<?> source,
			ConfigurableListableBeanFactory beanFactory) {
		ResolvableType defined = beanFactory.containsBeanDefinition(name)
				? beanFactory.getMergedBeanDefinition(name).getResolvableType() : ResolvableType.NONE;
		Class<?> event = defined.as(EventSource.class).getGeneric(0).resolve();
		if (event == null) {
			event = ResolvableType.forClass(source.getClass()).as(EventSource.class).getGeneric(0).resolve();
		}
		return (event != null) ? event : Object.class;
	}

	@Override
	public void start() {
		this.registrations.forEach(Registration::begin);
		this.running = true;
	}

	@Override
	public void stop() {
		stop(() -> {
		});
	}

	@Override
	public void stop(Runnable callback) {
		this.running = false;
		// All sources are closed first: while one waits for its handlers, the others must
		// not accept events.
		boolean ended = true;
		for (Registration registration : this.registrations) {
			ended &= registration.end(Duration.ZERO);
		}
		if (ended) {
			callback.run();
			return;
		}
		Thread thread = new Thread(() -> {
			try {
				this.registrations.forEach((registration) -> registration.end(this.grace));
			}
			finally {
				callback.run();
			}
		}, "lf-event-sources");
		thread.setDaemon(true);
		thread.start();
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

	@Override
	public int getPhase() {
		return PHASE;
	}

	private record Registration(String name, LeaderFollowersPool pool, EventSource<Object> source, int concurrency,
			EventSource.Handler<Object> handler) {

		Registration withLoggingContext() {
			return new Registration(this.name, this.pool, this.source, this.concurrency,
					LoggingContext.around(this.handler, this.name));
		}

		void begin() {
			this.pool.register(this.name, this.source, this.concurrency, this.handler);
		}

		boolean end(Duration timeout) {
			return this.pool.deregister(this.name, timeout);
		}

	}

}
