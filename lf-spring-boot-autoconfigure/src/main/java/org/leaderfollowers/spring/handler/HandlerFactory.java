package org.leaderfollowers.spring.handler;

import java.lang.invoke.MethodHandle;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventType;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.OwedReply;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.handler.HandlerMethod.Argument;
import org.leaderfollowers.spring.handler.HandlerMethods.Phase;

import org.springframework.core.KotlinDetector;
import org.springframework.core.MethodParameter;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringValueResolver;
import org.springframework.validation.Validator;

/**
 * Makes the handlers of servers from beans: from those that have annotated methods, and
 * from {@link MessageHandler}s. Whatever can be resolved or refused at start is.
 */
final class HandlerFactory {

	private final PayloadConverters converters;

	private final @Nullable Validator validator;

	private final List<LfErrorHandler> errorHandlers;

	private final StringValueResolver embeddedValues;

	HandlerFactory(PayloadConverters converters, @Nullable Validator validator, List<LfErrorHandler> errorHandlers,
			StringValueResolver embeddedValues) {
		this.converters = converters;
		this.validator = validator;
		this.errorHandlers = errorHandlers;
		this.embeddedValues = embeddedValues;
	}

	/**
	 * Whether a class can be that of a handler: it implements {@link MessageHandler}, or
	 * has annotated methods.
	 */
	static boolean isHandler(Class<?> type) {
		return MessageHandler.class.isAssignableFrom(type) || !HandlerMethods.of(type).isEmpty();
	}

	/**
	 * Makes the handler of a server.
	 * @see HandlerBeans.HandlerBean#create
	 */
	MessageHandler create(Source source, Charset charset, boolean connections,
			UnaryOperator<MessageHandler> decoration) {
		return new Build(source, charset, connections).create(decoration);
	}

	/**
	 * A bean that handles messages.
	 *
	 * @param bean the bean itself, or the proxy around it
	 * @param type its class, which is not that of a proxy
	 * @param name the name of the bean
	 * @param description the bean and where it is defined, for people
	 */
	record Source(Object bean, Class<?> type, String name, String description) {

		/** What people are told before they are told why. */
		String problem() {
			return "The bean %s, is annotated with @LfHandler, but %s cannot handle messages as it stands"
				.formatted(this.description, this.type.getName());
		}

	}

	/**
	 * The making of one handler.
	 */
	private final class Build {

		private final Source source;

		private final HandlerMethods methods;

		private final boolean connections;

		private final Mistakes mistakes = new Mistakes();

		private final HandlerMethod.Handles handles;

		private final Text text;

		private final PayloadReaders readers;

		private final Arguments arguments;

		private final ReplyTypes replyTypes;

		private final FailureLog failureLog;

		private @Nullable ServerMessageHandler created;

		Build(Source source, Charset charset, boolean connections) {
			this.source = source;
			this.connections = connections;
			this.methods = HandlerMethods.of(source.type());
			this.handles = new HandlerMethod.Handles(source.bean(), this.mistakes);
			this.text = new Text(charset);
			PayloadConverters converters = HandlerFactory.this.converters;
			this.readers = new PayloadReaders(converters, this.text);
			this.arguments = new Arguments(
					source.type(), this.readers, new HeaderArguments(converters.conversionService(),
							HandlerFactory.this.embeddedValues, this.mistakes),
					HandlerFactory.this.validator, this.mistakes);
			this.failureLog = new FailureLog(source.name());
			this.replyTypes = new ReplyTypes(source.type(), converters, this.mistakes);
		}

		MessageHandler create(UnaryOperator<MessageHandler> decoration) {
			if (this.source.bean() instanceof MessageHandler bean && this.methods.isEmpty()
					&& HandlerFactory.this.errorHandlers.isEmpty()) {
				// It costs nothing that there are other ways to handle messages.
				return decoration.apply(bean);
			}
			ErrorMethods errorMethods = errorMethods();
			boolean keepsMessages = errorMethods.takeMessages()
					|| HandlerFactory.this.errorHandlers.stream().anyMatch(Build::takesMessages);
			Replies replies = new Replies(new PayloadWriter(HandlerFactory.this.converters, this.text), keepsMessages,
					this::failed);
			MessageHandler handler = handler(replies);
			this.mistakes.throwIfAny(this.source.problem(), this.source.type());
			this.created = new ServerMessageHandler(decoration.apply(handler), replies, errorMethods,
					HandlerFactory.this.errorHandlers, this.failureLog);
			return this.created;
		}

		private void neverCalled(Method method) {
			this.mistakes.add(method, "would never be called: the server is for datagrams, which have no connections",
					"Remove the method, or serve another server with it.");
		}

		private void failed(Connection connection, OwedReply reply, @Nullable ByteBuffer message, Throwable failure) {
			if (this.created != null) {
				this.created.failed(connection, reply, message, failure);
			}
		}

		/**
		 * Whether an error handler has a method of its own for the failure of a message.
		 */
		private static boolean takesMessages(LfErrorHandler errorHandler) {
			Method method = ClassUtils.getMethodIfAvailable(errorHandler.getClass(), "handle", Connection.class,
					ByteBuffer.class, Throwable.class);
			return method == null || method.getDeclaringClass() != LfErrorHandler.class;
		}

		private MessageHandler handler(Replies replies) {
			MessageHandler bean = (this.source.bean() instanceof MessageHandler handler) ? handler : null;
			if (bean != null && this.methods.isEmpty()) {
				return bean;
			}
			Map<Phase, HandlerMethod> life = new EnumMap<>(Phase.class);
			for (Phase phase : Phase.LIFE) {
				if (!this.connections) {
					this.methods.of(phase).forEach(this::neverCalled);
				}
				HandlerMethod method = single(phase, this.methods.of(phase));
				if (method != null) {
					life.put(phase, method);
				}
			}
			MessageDispatch message = new MessageMethods(this.methods, this.arguments, this.readers,
					HandlerFactory.this.converters.json(), this.text, HandlerFactory.this.embeddedValues, this.mistakes,
					this::bind)
				.dispatch(bean);
			if (bean != null) {
				checkOnce("onOpen", Phase.OPEN, Connection.class);
				checkOnce("onIdle", Phase.IDLE, Connection.class, EventType.class);
				checkOnce("onDrain", Phase.DRAIN, Connection.class);
				checkOnce("onClose", Phase.CLOSE, Connection.class, CloseReason.class);
				checkOnce("onError", Phase.ERROR, Connection.class, Throwable.class);
				checkOnce("onError", Phase.ERROR, Connection.class, ByteBuffer.class, Throwable.class);
			}
			return new AnnotatedMessageHandler(life, message, bean, replies, this.failureLog);
		}

		private @Nullable HandlerMethod single(Phase phase, List<Method> candidates) {
			List<HandlerMethod> bound = new ArrayList<>();
			for (Method method : candidates) {
				bound.add(bind(method, phase, false));
			}
			if (bound.size() > 1) {
				this.mistakes.add("Class " + this.source.type().getSimpleName(),
						"has %d methods that are annotated with %s: %s".formatted(bound.size(), phase,
								Mistakes.describe(candidates)),
						"Keep one of them.");
			}
			return bound.isEmpty() ? null : bound.get(0);
		}

		private void checkOnce(String name, Phase phase, Class<?>... parameters) {
			List<Method> annotated = this.methods.of(phase);
			if (annotated.isEmpty()) {
				return;
			}
			Method own = ClassUtils.getMethodIfAvailable(this.source.type(), name, parameters);
			if (own != null && own.getDeclaringClass() != MessageHandler.class) {
				this.mistakes.add(own, "implements MessageHandler, but %s is annotated with %s"
					.formatted(Mistakes.describe(annotated), phase), "Keep one of the two.");
			}
		}

		/** Never fails: what is wrong is collected. */
		HandlerMethod bind(Method method, Phase phase, boolean converted) {
			MethodHandle handle = this.handles.handle(method);
			Argument[] arguments = new Argument[0];
			PayloadValidation.OfArguments validation = null;
			// What Kotlin adds to the parameters of the others is nobody's mistake.
			if (!KotlinDetector.isSuspendingFunction(method)) {
				arguments = this.arguments.find(method, phase, converted);
				validation = this.arguments.validation(method, this.source.bean());
				this.replyTypes.check(method, phase);
			}
			return new HandlerMethod((handle != null) ? handle : HandlerMethod.Handles.NONE, arguments, validation,
					Mistakes.describe(method));
		}

		private ErrorMethods errorMethods() {
			ErrorMethods errorMethods = new ErrorMethods();
			this.methods.error().forEach((method, annotation) -> {
				ErrorMethods.ErrorMethod bound = new ErrorMethods.ErrorMethod(bind(method, Phase.ERROR, false),
						annotation.close(), this.arguments.payloadType(method) != null,
						this.arguments.needsPayload(method));
				for (Class<? extends Throwable> type : errorTypes(method, annotation)) {
					ErrorMethods.ErrorMethod other = errorMethods.add(type, bound);
					if (other != null) {
						this.mistakes.add(
								method, "is annotated with @OnError for %s, and so is %s"
									.formatted(type.getSimpleName(), other.method()),
								"Keep one of them, or let each be for a type of its own.");
					}
				}
			});
			return errorMethods;
		}

		@SuppressWarnings("unchecked")
		private List<Class<? extends Throwable>> errorTypes(Method method, OnError annotation) {
			List<Class<? extends Throwable>> types = new ArrayList<>(List.of(annotation.value()));
			for (MethodParameter parameter : this.arguments.parameters(method)) {
				Class<?> type = parameter.getParameterType();
				if (!Throwable.class.isAssignableFrom(type)) {
					continue;
				}
				if (annotation.value().length == 0) {
					types.add((Class<? extends Throwable>) type);
				}
				for (Class<? extends Throwable> declared : annotation.value()) {
					if (!type.isAssignableFrom(declared)) {
						this.mistakes.add(method,
								"is annotated with @OnError for %s, which its parameter %s cannot take"
									.formatted(declared.getSimpleName(), Arguments.describe(parameter)),
								"Let the parameter be a supertype of all exceptions that the method is for.");
					}
				}
			}
			if (types.isEmpty()) {
				this.mistakes.add(method, "is annotated with @OnError, but does not tell for which exceptions",
						"Add a parameter of the type of the exception, or write @OnError(<type>.class).");
			}
			return types;
		}

	}

}
