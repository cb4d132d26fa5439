package org.leaderfollowers.spring.handler;

import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventType;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.OwedReply;
import org.leaderfollowers.spring.annotation.OnLogin;
import org.leaderfollowers.spring.handler.HandlerMethods.Phase;

import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.messaging.handler.annotation.support.HeadersMethodArgumentResolver;
import org.springframework.messaging.handler.invocation.HandlerMethodArgumentResolver;
import org.springframework.messaging.handler.invocation.HandlerMethodReturnValueHandler;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringValueResolver;
import org.springframework.validation.Validator;

/**
 * Creates the handlers of servers and clients from beans that have annotated methods or
 * are {@link MessageHandler}s. Methods are analyzed when a handler is created, so
 * mistakes fail the start of the application.
 *
 * @param converters convert messages and replies
 * @param validator validates messages, or {@code null} for no validation
 * @param errorHandlers handle failures that no advice handles, in this order
 * @param advices have methods for the failures of all handlers, in this order
 * @param argumentResolvers supply arguments that the built-in resolvers do not supply
 * @param returnValueHandlers take the return values of methods, which are then not sent
 * as replies
 * @param embeddedValues resolves placeholders and expressions
 */
record HandlerFactory(PayloadConverters converters, @Nullable Validator validator, List<LfErrorHandler> errorHandlers,
		List<Advice> advices, List<HandlerMethodArgumentResolver> argumentResolvers,
		List<HandlerMethodReturnValueHandler> returnValueHandlers, StringValueResolver embeddedValues) {

	/**
	 * Whether beans of a class can be handlers, because it implements
	 * {@link MessageHandler} or has annotated methods.
	 */
	static boolean isHandler(Class<?> type) {
		return MessageHandler.class.isAssignableFrom(type) || !HandlerMethods.of(type).isEmpty();
	}

	/**
	 * A bean that handles messages or failures.
	 *
	 * @param bean the bean itself, or the proxy around it
	 * @param type the class of the bean, not of a proxy
	 * @param name the name of the bean
	 * @param description the bean and the place of its definition, for messages
	 */
	record Source(Object bean, Class<?> type, String name, String description) {

		void check() {
			if (!isHandler(this.type)) {
				throw new InvalidHandlerException(
						"The bean %s, is annotated with @LfHandler, but its type %s has no method that is annotated with @OnMessage, and does not implement %s either."
							.formatted(this.description, this.type.getName(), MessageHandler.class.getName()),
						"Annotate a method of %s with @OnMessage, let it implement MessageHandler, or remove the annotation @LfHandler."
							.formatted(this.type.getName()));
			}
		}

		/** The first sentence of an error message, before the mistakes. */
		String problem() {
			return "The bean %s, is annotated with @LfHandler, but %s cannot handle messages as it stands"
				.formatted(this.description, this.type.getName());
		}

	}

	/**
	 * A bean with methods for the failures of all handlers.
	 *
	 * @param source the bean
	 * @param servers the names of the servers whose failures it handles; empty for all
	 * servers and clients
	 */
	record Advice(Source source, Set<String> servers) {

		/** The first sentence of an error message, before the mistakes. */
		String problem() {
			return "The bean %s, is annotated with @LfAdvice, but %s cannot handle failures as it stands"
				.formatted(this.source.description(), this.source.type().getName());
		}

	}

	/**
	 * Creates the handler of a server or client.
	 * @param owner the server or client
	 * @param sources its beans, in the order in which they are called for connections
	 * @see HandlerBeans#create
	 */
	MessageHandler create(Owner owner, List<Source> sources, UnaryOperator<MessageHandler> decoration) {
		sources.forEach(Source::check);
		return new Build(owner, sources).create(decoration);
	}

	/**
	 * The server or client of a handler.
	 *
	 * @param server {@code true} for a server, {@code false} for a client
	 * @param name its name
	 * @param charset the charset of text
	 * @param connections whether connections are opened and closed, which datagrams lack
	 */
	record Owner(boolean server, String name, Charset charset, boolean connections) {

		@Override
		public String toString() {
			return "%s '%s'".formatted(this.server ? "Server" : "Client", this.name);
		}

	}

	/**
	 * Creates one handler.
	 */
	private final class Build {

		private final Owner owner;

		private final List<Source> sources;

		private final Text text;

		private final PayloadReaders readers;

		private final Mistakes mistakes;

		private final List<BeanMethods> beans;

		/** The only bean, if it is a message handler. */
		private final @Nullable MessageHandler handler;

		private final FailureLog failureLog;

		private @Nullable ServerMessageHandler created;

		Build(Owner owner, List<Source> sources) {
			this.owner = owner;
			this.sources = sources;
			this.text = new Text(owner.charset());
			this.readers = new PayloadReaders(HandlerFactory.this.converters, this.text);
			this.mistakes = new Mistakes(sources.size() > 1);
			this.beans = sources.stream().map((source) -> methods(source, this.mistakes)).toList();
			this.handler = (sources.size() == 1 && sources.get(0).bean() instanceof MessageHandler only) ? only : null;
			this.failureLog = new FailureLog(sources.stream().map(Source::name).collect(Collectors.joining(", ")));
		}

		private BeanMethods methods(Source source, Mistakes mistakes) {
			PayloadConverters converters = HandlerFactory.this.converters;
			List<HandlerMethodArgumentResolver> resolvers = new ArrayList<>();
			resolvers.add(new HeaderArguments(converters.conversionService(), HandlerFactory.this.embeddedValues));
			resolvers.add(new HeadersMethodArgumentResolver());
			resolvers.addAll(HandlerFactory.this.argumentResolvers);
			Arguments arguments = new Arguments(source.type(), this.readers, resolvers, HandlerFactory.this.validator,
					mistakes);
			return new BeanMethods(source, arguments, new ReplyTypes(converters, mistakes),
					HandlerFactory.this.returnValueHandlers, mistakes);
		}

		MessageHandler create(UnaryOperator<MessageHandler> decoration) {
			List<ErrorMethods> advices = advices();
			if (this.handler != null && this.beans.get(0).methods().isEmpty() && advices.isEmpty()
					&& HandlerFactory.this.errorHandlers.isEmpty()) {
				// A message handler without methods for failures needs no wrapper.
				return decoration.apply(this.handler);
			}
			ErrorMethods own = new ErrorMethods();
			this.beans.forEach((bean) -> bean.addErrorMethods(own));
			List<ErrorMethods> errorMethods = new ArrayList<>(List.of(own));
			errorMethods.addAll(advices);
			boolean keepsMessages = errorMethods.stream().anyMatch(ErrorMethods::takeMessages)
					|| HandlerFactory.this.errorHandlers.stream().anyMatch(Build::takesMessages);
			Replies replies = new Replies(new PayloadWriter(HandlerFactory.this.converters, this.text), keepsMessages,
					this::failed);
			MessageHandler annotated = handler(replies);
			this.mistakes.throwIfAny(problem(), types());
			this.created = new ServerMessageHandler(decoration.apply(annotated), replies, errorMethods,
					HandlerFactory.this.errorHandlers, this.failureLog);
			return this.created;
		}

		private String types() {
			return this.sources.stream().map((source) -> source.type().getName()).collect(Collectors.joining(", "));
		}

		private String problem() {
			return (this.sources.size() == 1) ? this.sources.get(0).problem()
					: "%s has %d handlers, which cannot handle its messages as they stand".formatted(this.owner,
							this.sources.size());
		}

		private List<ErrorMethods> advices() {
			List<ErrorMethods> found = new ArrayList<>();
			for (Advice advice : HandlerFactory.this.advices) {
				if (advice.servers().isEmpty()
						|| (this.owner.server() && advice.servers().contains(this.owner.name()))) {
					Mistakes wrong = new Mistakes();
					BeanMethods methods = methods(advice.source(), wrong);
					if (methods.methods().error().size() != methods.methods().methods().size()
							|| methods.methods().isEmpty()) {
						wrong.add(methods.subject(),
								"must have methods that are annotated with @OnError, and no others",
								"Move the other methods to a bean that is annotated with @LfHandler.");
					}
					ErrorMethods errorMethods = new ErrorMethods();
					methods.addErrorMethods(errorMethods);
					wrong.throwIfAny(advice.problem(), advice.source().type().getName());
					found.add(errorMethods);
				}
			}
			return found;
		}

		private void failed(Connection connection, OwedReply reply, @Nullable ByteBuffer message, Throwable failure) {
			if (this.created != null) {
				this.created.failed(connection, reply, message, failure);
			}
		}

		/**
		 * Whether an error handler overrides the method for the failure of a message.
		 */
		private static boolean takesMessages(LfErrorHandler errorHandler) {
			Method method = ClassUtils.getMethodIfAvailable(errorHandler.getClass(), "handle", Connection.class,
					ByteBuffer.class, Throwable.class);
			return method == null || method.getDeclaringClass() != LfErrorHandler.class;
		}

		private MessageHandler handler(Replies replies) {
			if (this.handler != null && this.beans.get(0).methods().isEmpty()) {
				return this.handler;
			}
			Map<Phase, List<HandlerMethod>> life = new EnumMap<>(Phase.class);
			for (Phase phase : Phase.LIFE) {
				List<HandlerMethod> bound = new ArrayList<>();
				this.beans.forEach((bean) -> addLife(bean, phase, bound));
				life.put(phase, bound);
			}
			if (this.handler == null
					&& this.sources.stream().anyMatch((source) -> source.bean() instanceof MessageHandler)) {
				this.beans.forEach(this::checkNoMessageHandler);
				this.mistakes.throwIfAny(problem(), types());
			}
			this.beans.forEach(this::checkLogins);
			String subject = (this.beans.size() == 1) ? this.beans.get(0).subject() : this.owner.toString();
			MessageDispatch message = new MessageMethods(this.beans, this.readers,
					HandlerFactory.this.converters.json(), this.text, HandlerFactory.this.embeddedValues, this.mistakes,
					subject)
				.dispatch(this.handler);
			if (this.handler != null) {
				checkOnce("onOpen", Phase.OPEN, Connection.class);
				checkOnce("onIdle", Phase.IDLE, Connection.class, EventType.class);
				checkOnce("onDrain", Phase.DRAIN, Connection.class);
				checkOnce("onClose", Phase.CLOSE, Connection.class, CloseReason.class);
				checkOnce("onError", Phase.ERROR, Connection.class, Throwable.class);
				checkOnce("onError", Phase.ERROR, Connection.class, ByteBuffer.class, Throwable.class);
			}
			return new AnnotatedMessageHandler(life, message, this.handler, replies, this.failureLog);
		}

		private void addLife(BeanMethods bean, Phase phase, List<HandlerMethod> bound) {
			List<Method> candidates = bean.methods().of(phase);
			for (Method method : candidates) {
				bound.add(bean.bind(method, phase, false));
				if (!this.owner.connections()) {
					this.mistakes.add(method,
							"would never be called: the server is for datagrams, which have no connections",
							"Remove the method, or serve another server with it.");
				}
			}
			if (candidates.size() > 1) {
				this.mistakes.add(bean.subject(), "has %d methods that are annotated with %s: %s"
					.formatted(candidates.size(), phase, this.mistakes.names(candidates)), "Keep one of them.");
			}
		}

		private void checkNoMessageHandler(BeanMethods bean) {
			if (bean.source().bean() instanceof MessageHandler) {
				this.mistakes.add(bean.subject(),
						"implements MessageHandler, which takes all messages of the connections, but is one of %d handlers"
							.formatted(this.beans.size()),
						"Use @OnMessage instead, or give it a server of its own with @LfHandler(server = \"<name>\") and the property 'lf.servers.<name>.port'.");
			}
		}

		private void checkLogins(BeanMethods bean) {
			if (this.owner.server() && this.owner.connections()) {
				return;
			}
			bean.methods()
				.message()
				.keySet()
				.stream()
				.filter((method) -> AnnotatedElementUtils.hasAnnotation(method, OnLogin.class))
				.forEach((method) -> this.mistakes.add(method,
						"logs clients in, but only clients of a server with connections can log in",
						"Annotate it with @OnMessage."));
		}

		private void checkOnce(String name, Phase phase, Class<?>... parameters) {
			List<Method> annotated = this.beans.get(0).methods().of(phase);
			if (annotated.isEmpty()) {
				return;
			}
			Method own = ClassUtils.getMethodIfAvailable(this.sources.get(0).type(), name, parameters);
			if (own != null && own.getDeclaringClass() != MessageHandler.class) {
				this.mistakes.add(own, "implements MessageHandler, but %s is annotated with %s"
					.formatted(this.mistakes.names(annotated), phase), "Keep one of the two.");
			}
		}

	}

}
