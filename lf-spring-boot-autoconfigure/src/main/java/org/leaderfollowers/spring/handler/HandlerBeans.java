package org.leaderfollowers.spring.handler;

import java.lang.annotation.Annotation;
import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.UnaryOperator;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.EventSource;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.LfAdvice;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;

import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.config.EmbeddedValueResolver;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.annotation.OrderUtils;
import org.springframework.messaging.converter.MessageConverter;
import org.springframework.messaging.handler.invocation.HandlerMethodArgumentResolver;
import org.springframework.messaging.handler.invocation.HandlerMethodReturnValueHandler;
import org.springframework.util.Assert;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringValueResolver;
import org.springframework.util.function.SingletonSupplier;
import org.springframework.validation.Validator;

/**
 * The beans that are annotated with {@link LfHandler @LfHandler}. They are found by their
 * bean definitions, so finding a bean does not create it.
 */
public final class HandlerBeans {

	private static final String DEFAULT_SERVER = "default";

	private final ConfigurableListableBeanFactory beanFactory;

	private final StringValueResolver embeddedValues;

	private final SingletonSupplier<HandlerFactory> factory;

	/**
	 * Creates an object that finds these beans, and the beans that convert and validate
	 * messages and handle failures for them.
	 * @param beanFactory contains the beans; its parents are not searched for handlers
	 */
	public HandlerBeans(ConfigurableListableBeanFactory beanFactory) {
		Assert.notNull(beanFactory, "'beanFactory' must not be null");
		this.beanFactory = beanFactory;
		this.embeddedValues = new EmbeddedValueResolver(beanFactory);
		// Created with the first handler, since these beans may depend on this object.
		this.factory = SingletonSupplier.of(this::factory);
	}

	private HandlerFactory factory() {
		return new HandlerFactory(PayloadConverters.of(this.beanFactory, ordered(MessageConverter.class)),
				this.beanFactory.getBeanProvider(Validator.class).getIfUnique(), ordered(LfErrorHandler.class),
				advices(), ordered(HandlerMethodArgumentResolver.class), ordered(HandlerMethodReturnValueHandler.class),
				this.embeddedValues);
	}

	private <T> List<T> ordered(Class<T> type) {
		return this.beanFactory.getBeanProvider(type).orderedStream().toList();
	}

	private List<HandlerFactory.Advice> advices() {
		List<HandlerFactory.Advice> advices = new ArrayList<>();
		findByAdvice().forEach((bean, servers) -> advices.add(new HandlerFactory.Advice(bean.source(), servers)));
		advices.sort(Comparator.comparingInt((advice) -> order(advice.source())));
		return advices;
	}

	private static int order(HandlerFactory.Source source) {
		return OrderUtils.getOrder(source.type(), Ordered.LOWEST_PRECEDENCE);
	}

	/**
	 * Finds the beans that handle the failures of several handlers.
	 * @return the beans with the names of their servers; no name stands for all servers
	 * and clients
	 */
	public Map<HandlerBean, Set<String>> findByAdvice() {
		Map<HandlerBean, Set<String>> found = new LinkedHashMap<>();
		for (String name : names(LfAdvice.class)) {
			Set<String> servers = new LinkedHashSet<>();
			LfAdvice annotation = annotation(name, LfAdvice.class);
			if (annotation != null) {
				List.of(annotation.server()).forEach((server) -> servers.add(resolve(server)));
			}
			found.put(new HandlerBean(name), servers);
		}
		return found;
	}

	/**
	 * Finds the beans that handle the messages of servers.
	 * @return the beans by the name of the server that their annotation names
	 */
	public Map<String, List<HandlerBean>> findByServer() {
		return find(Owners::server);
	}

	/**
	 * Finds the beans that handle the messages, other than replies, that clients receive.
	 * @return the beans by the name of the client that their annotation names
	 */
	public Map<String, List<HandlerBean>> findByClient() {
		return find(Owners::client);
	}

	/**
	 * Finds the beans that handle the events of event sources.
	 * @return the beans by the name of the event source that their annotation names
	 */
	public Map<String, List<HandlerBean>> findBySource() {
		return find(Owners::source);
	}

	private Map<String, List<HandlerBean>> find(Function<Owners, String> key) {
		Map<String, List<HandlerBean>> found = new LinkedHashMap<>();
		for (String name : names(LfHandler.class)) {
			LfHandler annotation = annotation(name, LfHandler.class);
			HandlerBean bean = new HandlerBean(name);
			String owner = key.apply(owners(bean, annotation));
			if (!owner.isEmpty()) {
				found.computeIfAbsent(owner, (added) -> new ArrayList<>()).add(bean);
			}
		}
		return found;
	}

	/** Finds an annotation, which a scoped bean has on its target. */
	private <A extends Annotation> @Nullable A annotation(String name, Class<A> type) {
		String target = ScopedProxyUtils.getTargetBeanName(name);
		return this.beanFactory.findAnnotationOnBean(this.beanFactory.containsBean(target) ? target : name, type,
				false);
	}

	private Owners owners(HandlerBean bean, @Nullable LfHandler annotation) {
		if (annotation == null) {
			return new Owners(DEFAULT_SERVER, "", "");
		}
		String server = resolve(annotation.server());
		String source = resolve(annotation.source());
		String client = resolve(annotation.client());
		List<String> attributes = new ArrayList<>();
		addAttribute(attributes, "server", server.equals(DEFAULT_SERVER) ? "" : server);
		addAttribute(attributes, "source", source);
		addAttribute(attributes, "client", client);
		if (attributes.size() > 1) {
			throw new InvalidHandlerException(
					"The bean %s, is annotated with @LfHandler(%s), but a handler belongs to one server, one event source or one client."
						.formatted(bean, String.join(", ", attributes)),
					"Keep one of these attributes, and give each of the others a bean of its own.");
		}
		return new Owners((source.isEmpty() && client.isEmpty()) ? server : "", source, client);
	}

	private static void addAttribute(List<String> attributes, String name, String value) {
		if (!value.isEmpty()) {
			attributes.add("%s = \"%s\"".formatted(name, value));
		}
	}

	private String resolve(String value) {
		String resolved = this.embeddedValues.resolveStringValue(value);
		return (resolved != null) ? resolved : "";
	}

	/**
	 * The names in an annotation, with placeholders resolved; a missing name is empty.
	 *
	 * @param server the name of the server
	 * @param source the name of the event source
	 * @param client the name of the client
	 */
	private record Owners(String server, String source, String client) {
	}

	private Set<String> names(Class<? extends Annotation> annotation) {
		Set<String> names = new LinkedHashSet<>();
		for (String name : this.beanFactory.getBeanNamesForAnnotation(annotation)) {
			// A scoped bean is called through its proxy.
			names.add(ScopedProxyUtils.isScopedTarget(name) ? ScopedProxyUtils.getOriginalBeanName(name) : name);
		}
		return names;
	}

	/**
	 * Makes other beans depend on the handlers, so that they are destroyed before the
	 * handlers are.
	 * @param beans the names of the dependent beans
	 */
	public void addDependents(Set<String> beans) {
		Set<String> names = names(LfHandler.class);
		names.addAll(names(LfAdvice.class));
		for (String name : names) {
			beans.forEach((bean) -> this.beanFactory.registerDependentBean(name, bean));
		}
	}

	/**
	 * Describes which methods handle which messages of a server.
	 * @param server the name of the server
	 * @return the annotated methods of its handlers, and the handlers that are
	 * {@link MessageHandler}s
	 */
	public List<Mapping> mappings(String server) {
		return findByServer().getOrDefault(server, List.of())
			.stream()
			.flatMap((bean) -> HandlerMethods.of(bean.source().type()).mappings(bean.name(), this::resolve).stream())
			.toList();
	}

	/**
	 * A method of a handler.
	 *
	 * @param bean the name of the bean
	 * @param method the class and the method, or the class of a {@link MessageHandler}
	 * @param annotation the annotation that causes calls of the method
	 * @param matches the messages that the method handles, such as {@code type 'order'};
	 * empty if it handles all messages, messages of its payload type, or other events
	 */
	public record Mapping(String bean, String method, String annotation, List<String> matches) {
	}

	/**
	 * Creates the handler of a server or client, which calls its beans.
	 * @param server {@code true} for a server, {@code false} for a client
	 * @param name the name of the server or client
	 * @param beans its beans, at least one
	 * @param charset the charset of text
	 * @param connections whether connections are opened and closed, which datagrams lack
	 * @param decoration wraps the calls of the beans, inside of the handling of failures
	 * @return the handler
	 * @throws RuntimeException if the beans cannot handle messages; the failure analysis
	 * says why
	 */
	public MessageHandler create(boolean server, String name, List<HandlerBean> beans, Charset charset,
			boolean connections, UnaryOperator<MessageHandler> decoration) {
		List<HandlerFactory.Source> sources = beans.stream()
			.map(HandlerBean::source)
			.sorted(Comparator.comparingInt(HandlerBeans::order))
			.toList();
		return this.factory.obtain()
			.create(new HandlerFactory.Owner(server, name, charset, connections), sources, decoration);
	}

	/**
	 * Returns the only handler of an event source.
	 * @param source the name of the event source
	 * @param handlers all handlers of the event source
	 * @return the handler
	 * @throws RuntimeException unless there is exactly one; the failure analysis says
	 * what to do
	 */
	public HandlerBean singleOfSource(String source, List<HandlerBean> handlers) {
		if (handlers.isEmpty()) {
			throw new InvalidHandlerException("Event source '%s' has no handler for its events. It is the bean %s."
				.formatted(source, InvalidHandlerException.describe(this.beanFactory, source)), """
						Add a handler, for example:

						    @LfHandler(source = "%s")
						    class MyHandler {

						        @OnMessage
						        void handle(MyEvent event) {
						        }

						    }""".formatted(source));
		}
		if (handlers.size() > 1) {
			throw new InvalidHandlerException(
					"Event source '%s' must have one handler, but there are %d:%s".formatted(source, handlers.size(),
							InvalidHandlerException.list(handlers.stream().map(HandlerBean::toString).toList())),
					"Keep one of them.");
		}
		return handlers.get(0);
	}

	/**
	 * Creates an exception which explains that a server has no handler.
	 * @param server the name of the server
	 * @param prefix the prefix of the properties that configure it
	 * @param properties the names of these properties
	 * @return the exception to throw
	 */
	public RuntimeException missing(String server, String prefix, List<String> properties) {
		List<String> unmarked = findUnmarked();
		String annotation = server.equals(DEFAULT_SERVER) ? "@LfHandler"
				: "@LfHandler(server = \"%s\")".formatted(server);
		StringBuilder description = new StringBuilder("Server '%s' has no handler for its messages.".formatted(server));
		appendList(description, "It is configured by the following properties:", properties);
		appendList(description, "The following beans could handle messages, but are not annotated with @LfHandler:",
				unmarked);
		return new InvalidHandlerException(description.toString(),
				"""
						%s a handler, for example:

						    %s
						    class MyHandler {

						        @OnMessage
						        String handle(String message) {
						            return message;
						        }

						    }

						Or, if there is to be no such server, remove the properties that start with '%s.'.""".formatted(
						unmarked.isEmpty() ? "Add" : "Annotate one of these beans with " + annotation + ", or add",
						annotation, prefix));
	}

	private static void appendList(StringBuilder description, String title, List<String> lines) {
		if (!lines.isEmpty()) {
			description.append("%n%n%s%s".formatted(title, InvalidHandlerException.list(lines)));
		}
	}

	/**
	 * Finds beans that could be handlers, but lack the annotation.
	 */
	private List<String> findUnmarked() {
		Set<String> names = new LinkedHashSet<>(
				List.of(this.beanFactory.getBeanNamesForType(MessageHandler.class, true, false)));
		for (String name : this.beanFactory.getBeanDefinitionNames()) {
			Class<?> type = this.beanFactory.getType(name, false);
			if (type != null && AnnotationUtils.isCandidateClass(type, OnMessage.class)
					&& HandlerFactory.isHandler(type)) {
				names.add(name);
			}
		}
		names.removeAll(names(LfHandler.class));
		names.removeAll(names(LfAdvice.class));
		names.removeIf(ScopedProxyUtils::isScopedTarget);
		return names.stream().map((name) -> InvalidHandlerException.describe(this.beanFactory, name)).toList();
	}

	/**
	 * A bean that is annotated with {@link LfHandler @LfHandler}.
	 */
	public final class HandlerBean {

		private final String name;

		private HandlerBean(String name) {
			this.name = name;
		}

		/**
		 * Returns the name of the bean.
		 * @return the name
		 */
		public String name() {
			return this.name;
		}

		private HandlerFactory.Source source() {
			Object bean = HandlerBeans.this.beanFactory.getBean(this.name);
			Class<?> type = ClassUtils.getUserClass(AopProxyUtils.ultimateTargetClass(bean));
			return new HandlerFactory.Source(bean, type, this.name, toString());
		}

		/**
		 * Creates a handler of events that calls the bean.
		 * @param event the type of the events, or {@link Object} if it is unknown
		 * @return the handler
		 * @throws RuntimeException if the bean cannot handle events; the failure analysis
		 * says why
		 */
		public EventSource.Handler<Object> createForSource(Class<?> event) {
			return EventMethod.handler(source(), event);
		}

		/**
		 * Returns the name of the bean and the place of its definition, for messages.
		 */
		@Override
		public String toString() {
			return InvalidHandlerException.describe(HandlerBeans.this.beanFactory, this.name);
		}

	}

}
