package org.leaderfollowers.spring.handler;

import java.lang.reflect.Method;
import java.nio.charset.Charset;
import java.util.ArrayList;
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
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;

import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.config.EmbeddedValueResolver;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.messaging.converter.MessageConverter;
import org.springframework.util.Assert;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringUtils;
import org.springframework.util.StringValueResolver;
import org.springframework.util.function.SingletonSupplier;
import org.springframework.validation.Validator;

/**
 * The beans that are annotated with {@link LfHandler @LfHandler}. They are found by their
 * definitions, so that none is created before it is needed.
 */
public final class HandlerBeans {

	private static final String DEFAULT_SERVER = "default";

	private final ConfigurableListableBeanFactory beanFactory;

	private final StringValueResolver embeddedValues;

	private final SingletonSupplier<HandlerFactory> factory;

	/**
	 * Creates an object that finds the beans.
	 * @param beanFactory where to look, parents excluded: their servers are their own
	 * @param messageConverters asked first to convert messages, in their order
	 * @param validator validates messages, if there is one
	 * @param errorHandlers asked about failures, in their order
	 */
	public HandlerBeans(ConfigurableListableBeanFactory beanFactory, ObjectProvider<MessageConverter> messageConverters,
			ObjectProvider<Validator> validator, ObjectProvider<LfErrorHandler> errorHandlers) {
		Assert.notNull(beanFactory, "'beanFactory' must not be null");
		Assert.notNull(messageConverters, "'messageConverters' must not be null");
		Assert.notNull(validator, "'validator' must not be null");
		Assert.notNull(errorHandlers, "'errorHandlers' must not be null");
		this.beanFactory = beanFactory;
		this.embeddedValues = new EmbeddedValueResolver(beanFactory);
		// With the first handler, since these beans may need what needs this object.
		this.factory = SingletonSupplier
			.of(() -> new HandlerFactory(PayloadConverters.of(beanFactory, messageConverters.orderedStream().toList()),
					validator.getIfUnique(), errorHandlers.orderedStream().toList(), this.embeddedValues));
	}

	/**
	 * Finds the beans that handle the messages of servers.
	 * @return the beans by the name of the server that their annotation names
	 */
	public Map<String, List<HandlerBean>> findByServer() {
		return find(Owners::server);
	}

	/**
	 * Finds the beans that handle the messages of clients' peers that are no replies.
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
		for (String name : names()) {
			String target = ScopedProxyUtils.getTargetBeanName(name);
			LfHandler annotation = this.beanFactory
				.findAnnotationOnBean(this.beanFactory.containsBean(target) ? target : name, LfHandler.class, false);
			HandlerBean bean = new HandlerBean(name);
			String owner = key.apply(owners(bean, annotation));
			if (!owner.isEmpty()) {
				found.computeIfAbsent(owner, (added) -> new ArrayList<>()).add(bean);
			}
		}
		return found;
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
	 * The names in an annotation, without placeholders; those that it does not have are
	 * empty.
	 *
	 * @param server the name of the server
	 * @param source the name of the event source
	 * @param client the name of the client
	 */
	private record Owners(String server, String source, String client) {
	}

	private Set<String> names() {
		Set<String> names = new LinkedHashSet<>();
		for (String name : this.beanFactory.getBeanNamesForAnnotation(LfHandler.class)) {
			// The proxy of a scoped bean, instead of its target.
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
		for (String name : names()) {
			beans.forEach((bean) -> this.beanFactory.registerDependentBean(name, bean));
		}
	}

	/**
	 * Returns the only handler of a server.
	 * @param server the name of the server
	 * @param handlers all handlers of the server, at least one
	 * @return the handler
	 * @throws RuntimeException if there are several: its analysis names them
	 */
	public HandlerBean single(String server, List<HandlerBean> handlers) {
		if (handlers.size() == 1) {
			return handlers.get(0);
		}
		handlers.forEach(HandlerBean::checkType);
		throw new InvalidHandlerException(
				"Server '%s' must have one handler, but there are %d:%s".formatted(server, handlers.size(),
						InvalidHandlerException.list(handlers.stream().map(HandlerBean::toString).toList())),
				"Keep one of them, or give each a server of its own "
						+ "with @LfHandler(server = \"<name>\") and the property 'lf.servers.<name>.port'.");
	}

	/**
	 * Returns the only handler of a client.
	 * @param client the name of the client
	 * @param handlers all handlers of the client, at least one
	 * @return the handler
	 * @throws RuntimeException if there are several: its analysis names them
	 */
	public HandlerBean singleOfClient(String client, List<HandlerBean> handlers) {
		return singleOf("Client '%s'".formatted(client), handlers);
	}

	private static HandlerBean singleOf(String owner, List<HandlerBean> handlers) {
		if (handlers.size() == 1) {
			return handlers.get(0);
		}
		throw new InvalidHandlerException(
				"%s must have one handler, but there are %d:%s".formatted(owner, handlers.size(),
						InvalidHandlerException.list(handlers.stream().map(HandlerBean::toString).toList())),
				"Keep one of them.");
	}

	/**
	 * Returns the only handler of an event source.
	 * @param source the name of the event source
	 * @param handlers all handlers of the event source
	 * @return the handler
	 * @throws RuntimeException if there are none or several: its analysis says what to do
	 */
	public HandlerBean singleOfSource(String source, List<HandlerBean> handlers) {
		if (handlers.isEmpty()) {
			throw new InvalidHandlerException("Event source '%s' has no handler for its events. It is the bean %s."
				.formatted(source, describe(source)), """
						Add a handler, for example:

						    @LfHandler(source = "%s")
						    class MyHandler {

						        @OnMessage
						        void handle(MyEvent event) {
						        }

						    }""".formatted(source));
		}
		return singleOf("Event source '%s'".formatted(source), handlers);
	}

	/**
	 * Explains that a server has no handler.
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
	 * Finds handlers that somebody may have forgotten to annotate.
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
		names.removeAll(names());
		names.removeIf(ScopedProxyUtils::isScopedTarget);
		return names.stream().map(this::describe).toList();
	}

	/**
	 * Tells people which bean it is and where to find it.
	 */
	private String describe(String name) {
		if (!this.beanFactory.containsBeanDefinition(name)) {
			return "'%s', registered by code".formatted(name);
		}
		BeanDefinition definition = this.beanFactory.getMergedBeanDefinition(name);
		String resource = definition.getResourceDescription();
		if (!StringUtils.hasText(resource)) {
			// Registered by code, some of which is generated ahead of time.
			Method method = (definition instanceof RootBeanDefinition root) ? root.getResolvedFactoryMethod() : null;
			if (method != null) {
				return "'%s', defined by method '%s' in %s".formatted(name, method.getName(),
						method.getDeclaringClass().getName());
			}
			return "'%s', made from %s".formatted(name, definition.getBeanClassName());
		}
		if (StringUtils.hasText(definition.getFactoryMethodName())) {
			return "'%s', defined by method '%s' in %s".formatted(name, definition.getFactoryMethodName(), resource);
		}
		return "'%s', defined in %s".formatted(name, resource);
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

		/**
		 * Makes a handler that calls the bean.
		 * @param charset the charset of text
		 * @param connections whether the server has connections, which are opened and
		 * closed
		 * @param decoration what is put around the calls of the bean, inside of the
		 * handling of failures
		 * @return the handler
		 * @throws RuntimeException if the bean cannot handle messages: its analysis says
		 * why
		 */
		public MessageHandler create(Charset charset, boolean connections, UnaryOperator<MessageHandler> decoration) {
			Object bean = HandlerBeans.this.beanFactory.getBean(this.name);
			Class<?> type = ClassUtils.getUserClass(AopProxyUtils.ultimateTargetClass(bean));
			checkType(type);
			return HandlerBeans.this.factory.obtain()
				.create(new HandlerFactory.Source(bean, type, this.name, toString()), charset, connections, decoration);
		}

		/**
		 * Makes a handler of events that calls the bean.
		 * @param event the type of the events, as far as it is known
		 * @return the handler
		 * @throws RuntimeException if the bean cannot handle events: its analysis says
		 * why
		 */
		public EventSource.Handler<Object> createForSource(Class<?> event) {
			Object bean = HandlerBeans.this.beanFactory.getBean(this.name);
			Class<?> type = ClassUtils.getUserClass(AopProxyUtils.ultimateTargetClass(bean));
			return EventMethod.handler(new HandlerFactory.Source(bean, type, this.name, toString()), event);
		}

		/**
		 * Checks what can be told without creating the bean.
		 */
		private void checkType() {
			Class<?> type = HandlerBeans.this.beanFactory.getType(this.name, false);
			if (type != null && !type.isInterface() && type != Object.class) {
				checkType(type);
			}
		}

		private void checkType(Class<?> type) {
			if (!HandlerFactory.isHandler(type)) {
				throw new InvalidHandlerException(
						"The bean %s, is annotated with @LfHandler, but its type %s has no method that is annotated with @OnMessage, and does not implement %s either."
							.formatted(this, type.getName(), MessageHandler.class.getName()),
						"Annotate a method of %s with @OnMessage, let it implement MessageHandler, or remove the annotation @LfHandler."
							.formatted(type.getName()));
			}
		}

		/**
		 * Tells people which bean it is and where to find it.
		 */
		@Override
		public String toString() {
			return describe(this.name);
		}

	}

}
