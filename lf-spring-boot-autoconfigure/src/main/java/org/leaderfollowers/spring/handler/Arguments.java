package org.leaderfollowers.spring.handler;

import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.security.Principal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

import javax.net.ssl.SSLSession;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventType;
import org.leaderfollowers.spring.handler.HandlerMethod.Argument;
import org.leaderfollowers.spring.handler.HandlerMethods.Phase;
import org.leaderfollowers.spring.handler.PayloadReaders.PayloadReader;

import org.springframework.core.Conventions;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.KotlinDetector;
import org.springframework.core.MethodParameter;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotatedMethod;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.messaging.Message;
import org.springframework.messaging.MessageHeaders;
import org.springframework.messaging.handler.annotation.Headers;
import org.springframework.messaging.handler.annotation.Payload;
import org.springframework.messaging.handler.invocation.HandlerMethodArgumentResolver;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringUtils;
import org.springframework.validation.Validator;
import org.springframework.validation.annotation.Validated;

/**
 * Determines at start how the arguments of methods are supplied.
 */
final class Arguments {

	/** Types that are never the payload, in addition to {@link Connection}. */
	private static final List<Class<?>> NO_PAYLOADS = List.of(Throwable.class, CloseReason.class, SSLSession.class,
			SocketAddress.class, InetAddress.class, Principal.class, Message.class, MessageHeaders.class);

	/** A name instead of a class literal, since Jakarta Validation is optional. */
	static final String CONSTRAINT = "jakarta.validation.Constraint";

	private static final boolean JAKARTA = ClassUtils.isPresent(CONSTRAINT, Arguments.class.getClassLoader());

	private final Class<?> beanType;

	private final PayloadReaders readers;

	/**
	 * The first resolver that supports a parameter is used; those of the application are
	 * last.
	 */
	private final List<HandlerMethodArgumentResolver> resolvers;

	private final @Nullable Validator validator;

	private final Mistakes mistakes;

	Arguments(Class<?> beanType, PayloadReaders readers, List<HandlerMethodArgumentResolver> resolvers,
			@Nullable Validator validator, Mistakes mistakes) {
		this.beanType = beanType;
		this.readers = readers;
		this.resolvers = resolvers;
		this.validator = validator;
		this.mistakes = mistakes;
	}

	/**
	 * Finds the sources of the arguments of a method.
	 * @param converted whether the payload has been converted before the call
	 * @return one source for each parameter; must not be used if a mistake was added
	 */
	Argument[] find(Method method, Phase phase, boolean converted) {
		MethodParameter[] parameters = parameters(method);
		MethodParameter payload = takesPayload(phase) ? payload(method, parameters) : null;
		List<Argument> arguments = new ArrayList<>();
		for (MethodParameter parameter : parameters) {
			checkConstraints(method, parameter);
			Argument argument = (parameter == payload) ? payloadArgument(method, parameter, converted)
					: argument(method, phase, parameter);
			if (parameter == payload && phase == Phase.ERROR) {
				argument = ofFailedMessage(parameter, argument);
			}
			if (argument != null) {
				arguments.add(argument);
			}
		}
		return arguments.toArray(new Argument[0]);
	}

	private static boolean takesPayload(Phase phase) {
		return phase == Phase.MESSAGE || phase == Phase.ERROR;
	}

	/** A failure may have no message; the payload is then {@code null} or empty. */
	private static @Nullable Argument ofFailedMessage(MethodParameter parameter, @Nullable Argument payload) {
		Object missing = (parameter.getParameterType() == Optional.class) ? Optional.empty() : null;
		return (payload == null) ? null
				: (connection, message, event) -> (message != null) ? payload.get(connection, message, event) : missing;
	}

	/**
	 * Finds the type of the payload of a method.
	 * @return the type, or {@code null} if the method does not take it
	 */
	@Nullable ResolvableType payloadType(Method method) {
		MethodParameter payload = payloadParameter(method);
		return (payload != null) ? typeOf(payload.nestedIfOptional()) : null;
	}

	/** A parameter of an {@link AnnotatedMethod} does not know the class of the bean. */
	private ResolvableType typeOf(MethodParameter parameter) {
		return ResolvableType.forMethodParameter(new MethodParameter(parameter).withContainingClass(this.beanType));
	}

	private @Nullable MethodParameter payloadParameter(Method method) {
		for (MethodParameter parameter : parameters(method)) {
			if (parameter.hasParameterAnnotation(Payload.class) || isCandidate(parameter)) {
				return parameter;
			}
		}
		return null;
	}

	/** Whether a method requires a payload. */
	boolean needsPayload(Method method) {
		MethodParameter payload = payloadParameter(method);
		return payload != null && (!mayBeMissing(payload) || payload.getParameterType().isPrimitive());
	}

	private static boolean mayBeMissing(MethodParameter parameter) {
		Payload annotation = parameter.getParameterAnnotation(Payload.class);
		return parameter.isOptional() || (annotation != null && !annotation.required());
	}

	MethodParameter[] parameters(Method method) {
		MethodParameter[] parameters = new AnnotatedMethod(method).getMethodParameters();
		if (KotlinDetector.isSuspendingFunction(method)) {
			// Kotlin adds the last parameter, the continuation, and supplies its value.
			parameters = Arrays.copyOf(parameters, parameters.length - 1);
		}
		for (int i = 0; i < parameters.length; i++) {
			// The bean may have inherited the method, from a generic class for example.
			parameters[i] = parameters[i].withContainingClass(this.beanType);
			parameters[i].initParameterNameDiscovery(new DefaultParameterNameDiscoverer());
		}
		return parameters;
	}

	private @Nullable MethodParameter payload(Method method, MethodParameter[] parameters) {
		List<MethodParameter> found = List.of(parameters)
			.stream()
			.filter((parameter) -> parameter.hasParameterAnnotation(Payload.class))
			.toList();
		if (found.isEmpty()) {
			found = List.of(parameters).stream().filter(this::isCandidate).toList();
		}
		if (found.size() > 1) {
			this.mistakes.add(method,
					"has several parameters that could be the payload: "
							+ String.join(", ", found.stream().map(Arguments::describe).toList()),
					"Annotate one of them with @Payload, and the others with @Header, or remove them.");
		}
		return found.isEmpty() ? null : found.get(0);
	}

	private boolean isCandidate(MethodParameter parameter) {
		return isPayload(parameter.nestedIfOptional().getNestedParameterType())
				&& !parameter.hasParameterAnnotation(Headers.class) && resolver(parameter) == null;
	}

	private @Nullable HandlerMethodArgumentResolver resolver(MethodParameter parameter) {
		return this.resolvers.stream()
			.filter((candidate) -> candidate.supportsParameter(parameter))
			.findFirst()
			.orElse(null);
	}

	/**
	 * Whether messages can be converted to values of a type, or such values to messages.
	 */
	static boolean isPayload(Class<?> type) {
		return type != Connection.class && NO_PAYLOADS.stream().noneMatch((other) -> other.isAssignableFrom(type));
	}

	private @Nullable Argument argument(Method method, Phase phase, MethodParameter parameter) {
		Class<?> type = parameter.getParameterType();
		if (type == Connection.class) {
			return (connection, message, event) -> connection;
		}
		Class<?> nested = parameter.nestedIfOptional().getNestedParameterType();
		if (nested == SSLSession.class) {
			return ofConnection(method, parameter, "sslSession", "TLS session", Connection::sslSession);
		}
		if ((phase == Phase.CLOSE && type == CloseReason.class) || (phase == Phase.IDLE && type == EventType.class)) {
			return (connection, message, event) -> event;
		}
		if (phase == Phase.ERROR && Throwable.class.isAssignableFrom(type)) {
			return (connection, message, event) -> ErrorMethods.find(type, event);
		}
		HandlerMethodArgumentResolver resolver = resolver(parameter);
		if (resolver != null) {
			return resolved(method, parameter, resolver);
		}
		if (Principal.class.isAssignableFrom(nested)) {
			return ofConnection(method, parameter, LfHeaders.PRINCIPAL, nested.getSimpleName(),
					(connection) -> ConnectionMessage.principal(connection, nested));
		}
		if (parameter.hasParameterAnnotation(Payload.class) || !(takesPayload(phase) && isCandidate(parameter))) {
			this.mistakes.add(method, "has the parameter %s, which nothing can supply to a method for %s"
				.formatted(describe(parameter), phase), remedy(phase, parameter));
		}
		return null;
	}

	private Argument resolved(Method method, MethodParameter parameter, HandlerMethodArgumentResolver resolver) {
		MethodParameter nullable = parameter;
		try {
			// Invalid names and default values are found without a connection.
			if (resolver instanceof HeaderArguments) {
				nullable = HeaderArguments.nullable(parameter);
				resolver.resolveArgument(nullable, new ConnectionMessage(null, null));
			}
		}
		catch (MissingHeaderException ex) {
			// Expected for a required header, because there is no connection yet.
		}
		catch (Exception ex) {
			this.mistakes.add(method,
					"has the parameter %s, whose header cannot be supplied: %s".formatted(describe(parameter),
							StringUtils.trimTrailingCharacter(String.valueOf(ex.getMessage()), '.')),
					"Correct the name or the default value of the header, or the type of the parameter.");
		}
		MethodParameter resolved = nullable;
		return (connection, message, event) -> resolver.resolveArgument(resolved,
				new ConnectionMessage(connection, message));
	}

	private static Argument ofConnection(Method method, MethodParameter parameter, String header, String what,
			Function<Connection, @Nullable Object> source) {
		boolean optional = parameter.isOptional();
		boolean wrapped = parameter.getParameterType() == Optional.class;
		String missing = "The connection has no %s, which the parameter %s of %s needs".formatted(what,
				describe(parameter), Mistakes.describeWithClass(method));
		return (connection, message, event) -> {
			Object value = source.apply(connection);
			if (value == null && !optional) {
				throw new MissingHeaderException(header, missing);
			}
			return wrapped ? Optional.ofNullable(value) : value;
		};
	}

	private static String remedy(Phase phase, MethodParameter parameter) {
		Class<?> type = parameter.getParameterType();
		if (SocketAddress.class.isAssignableFrom(type) || InetAddress.class.isAssignableFrom(type)) {
			return "Annotate it with @Header(LfHeaders.REMOTE_ADDRESS) or @Header(LfHeaders.LOCAL_ADDRESS).";
		}
		if (Map.class.isAssignableFrom(type)) {
			return "Annotate it with @Headers for all headers and attributes of the connection, or a parameter with @Header(\"<name>\") for one of them.";
		}
		if (parameter.hasParameterAnnotation(Headers.class)) {
			return "Use the type Map<String, Object> or MessageHeaders.";
		}
		return "Remove the parameter. There can be: the Connection, its SSLSession, its Principal, "
				+ "parameters annotated with @Header for attributes and addresses of the connection, and "
				+ switch (phase) {
					case OPEN -> "nothing else: no message has arrived yet.";
					case MESSAGE -> "the payload.";
					case IDLE -> "the EventType.";
					case DRAIN -> "nothing else: it is not about a message.";
					case CLOSE -> "the CloseReason.";
					case ERROR -> "the exception and the message that failed.";
				};
	}

	private @Nullable Argument payloadArgument(Method method, MethodParameter parameter, boolean converted) {
		Payload annotation = parameter.getParameterAnnotation(Payload.class);
		if (annotation != null && !annotation.expression().isEmpty()) {
			this.mistakes.add(method,
					"has the payload %s with the expression '%s', but expressions in @Payload are not supported"
						.formatted(describe(parameter), annotation.expression()),
					"Write @Payload without an expression, and take from the payload in the method what it needs.");
		}
		PayloadValidation validation = validation(method, parameter);
		Argument argument = !converted ? convertedArgument(method, parameter)
				: (parameter.getParameterType() != Optional.class) ? (connection, message, event) -> event
						: (connection, message, event) -> Optional.ofNullable(event);
		if (argument == null || validation == null) {
			return argument;
		}
		Argument unchecked = argument;
		return (connection, message, event) -> {
			Object payload = unchecked.get(connection, message, event);
			validation.validate((payload instanceof Optional<?> optional) ? optional.orElse(null) : payload);
			return payload;
		};
	}

	private @Nullable Argument convertedArgument(Method method, MethodParameter parameter) {
		MethodParameter nested = parameter.nestedIfOptional();
		ResolvableType type = typeOf(nested);
		PayloadReader reader = this.readers.find(type, nested);
		if (reader == null) {
			this.mistakes.add(method,
					"has the payload %s, but nothing can convert a message to it".formatted(describe(parameter)),
					"Add the dependency 'org.springframework.boot:spring-boot-starter-jackson' for JSON, "
							+ "define a bean of type org.springframework.messaging.converter.MessageConverter, "
							+ "or take the payload as String, byte[] or ByteBuffer.");
			return null;
		}
		Argument argument = (connection, message, event) -> reader.read(connection, required(message));
		boolean optional = mayBeMissing(parameter);
		boolean anyBytes = type.toClass() == String.class || type.toClass() == CharSequence.class
				|| type.toClass() == byte[].class || type.toClass() == ByteBuffer.class;
		if (parameter.getParameterType() == Optional.class) {
			return (connection, message, event) -> required(message).hasRemaining()
					? Optional.ofNullable(argument.get(connection, message, event)) : Optional.empty();
		}
		if (optional && !anyBytes
				&& (!parameter.getParameterType().isPrimitive() || HandlerMethod.Handles.isKotlin(method))) {
			return (connection, message, event) -> required(message).hasRemaining()
					? argument.get(connection, message, event) : null;
		}
		return argument;
	}

	/**
	 * Finds the validation of all arguments of a method.
	 * @return {@code null} if it is not needed; the payload may still be validated as a
	 * bean
	 */
	PayloadValidation.@Nullable OfArguments validation(Method method, Object bean) {
		return (this.validator != null && isConstrained(method))
				? PayloadValidation.OfArguments.of(this.validator, bean, method, parameters(method)) : null;
	}

	private boolean isConstrained(Method method) {
		return this.validator != null && JAKARTA
				&& PayloadValidation.OfArguments.isNeeded(this.validator, this.beanType, method);
	}

	/**
	 * Rejects constraints that no validator checks, since the method would rely on them.
	 */
	private void checkConstraints(Method method, MethodParameter parameter) {
		boolean checked = (this.validator != null && JAKARTA && PayloadValidation.OfArguments.supports(this.validator))
				|| AnnotatedElementUtils.hasAnnotation(this.beanType, Validated.class);
		if (!checked && MergedAnnotations.from(parameter.getParameterAnnotations()).isPresent(CONSTRAINT)) {
			this.mistakes.add(method,
					"has constraints on the parameter %s, but there is no validator that checks them"
						.formatted(describe(parameter)),
					"Add the dependency 'org.springframework.boot:spring-boot-starter-validation', or remove the constraints.");
		}
	}

	private @Nullable PayloadValidation validation(Method method, MethodParameter parameter) {
		Object[] groups = PayloadValidation.groups(parameter.getParameterAnnotations());
		if (groups == null || isConstrained(method)) {
			return null;
		}
		if (this.validator == null) {
			this.mistakes.add(method,
					"wants the payload %s to be validated, but there is no validator".formatted(describe(parameter)),
					"Add the dependency 'org.springframework.boot:spring-boot-starter-validation', or define one bean of type org.springframework.validation.Validator.");
			return null;
		}
		return new PayloadValidation(this.validator, Conventions.getVariableNameForParameter(parameter), groups);
	}

	private static <T> T required(@Nullable T value) {
		if (value == null) {
			throw new IllegalStateException("no message to convert");
		}
		return value;
	}

	static String describe(MethodParameter parameter) {
		String type = ResolvableType.forMethodParameter(parameter).toString().replaceAll("[\\w.]+\\.(?=\\w)", "");
		String name = parameter.getParameterName();
		return "'%s'".formatted((name != null) ? type + " " + name : type);
	}

}
