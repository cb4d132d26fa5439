package org.leaderfollowers.spring.handler;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.stream.BaseStream;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.annotation.Exchange;
import org.leaderfollowers.spring.handler.ClientProxies.Exchanger;
import org.leaderfollowers.spring.handler.ExchangeMethod.Missing;
import org.leaderfollowers.spring.handler.ExchangeMethod.Reply;
import org.leaderfollowers.spring.handler.ExchangeMethod.Request;
import org.leaderfollowers.spring.handler.PayloadReaders.PayloadReader;

import org.springframework.boot.convert.DurationStyle;
import org.springframework.core.Conventions;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.KotlinDetector;
import org.springframework.core.MethodParameter;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.util.StringValueResolver;
import org.springframework.validation.Validator;

/**
 * Prepares the methods of an
 * {@link org.leaderfollowers.spring.annotation.LfClient @LfClient} interface for calls,
 * and finds their mistakes at start.
 */
final class ExchangeMethods {

	private static final String CONVERTERS = "Add the dependency 'org.springframework.boot:spring-boot-starter-jackson' for JSON, "
			+ "define a bean of type org.springframework.messaging.converter.MessageConverter, ";

	private final Class<?> type;

	private final Exchanger exchanger;

	private final PayloadConverters converters;

	private final @Nullable Validator validator;

	private final StringValueResolver embeddedValues;

	private final PayloadReaders readers;

	private final PayloadWriter writer;

	private final Mistakes mistakes = new Mistakes();

	private final ReplyTypes types;

	ExchangeMethods(Class<?> type, Exchanger exchanger, PayloadConverters converters, @Nullable Validator validator,
			StringValueResolver embeddedValues) {
		this.type = type;
		this.exchanger = exchanger;
		this.converters = converters;
		this.validator = validator;
		this.embeddedValues = embeddedValues;
		Text text = new Text(exchanger.charset());
		this.readers = new PayloadReaders(converters, text);
		this.writer = new PayloadWriter(converters, text);
		this.types = new ReplyTypes(converters, this.mistakes);
	}

	/** The abstract methods of an interface, including those that it inherits. */
	static List<Method> of(Class<?> type) {
		return Stream.of(type.getMethods())
			.filter((method) -> Modifier.isAbstract(method.getModifiers()))
			.sorted(Comparator.comparing(Method::getName).thenComparing(Method::toGenericString))
			.toList();
	}

	/**
	 * Prepares all methods.
	 * @return the prepared methods, by declared method
	 */
	Map<Method, ExchangeMethod> find() {
		Map<Method, ExchangeMethod> found = new LinkedHashMap<>();
		for (Method method : of(this.type)) {
			Exchange annotation = AnnotatedElementUtils.findMergedAnnotation(method, Exchange.class);
			if (annotation == null) {
				this.mistakes.add(method, "is not annotated with @Exchange",
						"Annotate it, give it a body (default), or remove it.");
			}
			else if (KotlinDetector.isSuspendingFunction(method)) {
				this.mistakes.add(method, "is a suspending function, which is not supported",
						"Return a CompletableFuture.");
			}
			else {
				String description = this.type.getSimpleName() + "." + Mistakes.describe(method);
				found.put(method, new ExchangeMethod(method, description, this.exchanger, request(method),
						reply(method), timeout(method, annotation)));
			}
		}
		if (found.isEmpty()) {
			this.mistakes.add("Interface " + this.type.getSimpleName(), "has no method to exchange messages with",
					"Add a method that is annotated with @Exchange.");
		}
		this.mistakes.throwIfAny("The interface %s is annotated with @LfClient, but cannot be implemented as it stands"
			.formatted(this.type.getName()), this.type.getName());
		return found;
	}

	private Request request(Method method) {
		if (method.getParameterCount() != 1) {
			this.mistakes.add(method,
					(method.getParameterCount() == 0) ? "has no parameter, and so no request to send"
							: "has %d parameters, but a request is one message".formatted(method.getParameterCount()),
					"Let it have one parameter, the request. A default method can make a request of several arguments, or of none.");
			return new Request(this.writer, null);
		}
		MethodParameter parameter = new MethodParameter(method, 0).withContainingClass(this.type);
		parameter.initParameterNameDiscovery(new DefaultParameterNameDiscoverer());
		ResolvableType request = ResolvableType.forMethodParameter(parameter);
		if (!isOneMessage(request.toClass()) || request.toClass() == Optional.class) {
			this.mistakes.add(method,
					"has the parameter %s, which is not one message".formatted(Arguments.describe(parameter)),
					"Take the request as what is converted to a message, or as String, byte[] or ByteBuffer.");
		}
		else if (!this.types.canWrite(request)) {
			this.mistakes.add(method,
					"has the request %s, but nothing can convert it to a message"
						.formatted(Arguments.describe(parameter)),
					CONVERTERS + "or take the request as String, byte[] or ByteBuffer.");
		}
		Object[] groups = PayloadValidation.groups(parameter.getParameterAnnotations());
		return new Request(this.writer,
				validation(method, groups, Conventions.getVariableNameForParameter(parameter), "request"));
	}

	private Reply reply(Method method) {
		MethodParameter reply = new MethodParameter(method, -1).withContainingClass(this.type);
		Class<?> returned = ResolvableType.forMethodParameter(reply).toClass();
		boolean later = returned != Object.class
				&& (CompletionStage.class.isAssignableFrom(returned) || Future.class.isAssignableFrom(returned));
		if (later && !returned.isAssignableFrom(CompletableFuture.class)) {
			this.mistakes.add(method, "returns a %s, which is not supported".formatted(returned.getSimpleName()),
					"Return a CompletableFuture for a reply that comes later.");
			return Reply.NONE;
		}
		reply = later ? reply.nested() : reply;
		boolean optional = reply.getNestedParameterType() == Optional.class;
		reply = optional ? reply.nested() : reply;
		ResolvableType content = ResolvableType.forMethodParameter(reply);
		if (content.resolve() == null) {
			this.mistakes.add(method, "returns a %s, but does not tell of what".formatted(returned.getSimpleName()),
					"Tell what the reply is converted to, for example %s<String>.".formatted(returned.getSimpleName()));
			return Reply.NONE;
		}
		Class<?> raw = content.toClass();
		if (raw == void.class || raw == Void.class) {
			return new Reply(later, null, Missing.CONVERTED, null);
		}
		if (!isOneMessage(raw) || raw == Optional.class) {
			this.mistakes.add(method,
					"returns a %s, which a reply cannot be converted to".formatted(raw.getSimpleName()),
					"Return what one message is converted to, a CompletableFuture or an Optional of that, or nothing.");
			return Reply.NONE;
		}
		PayloadReader reader = this.readers.find(content, reply);
		if (reader == null) {
			this.mistakes.add(method, "returns a %s, but nothing can convert a reply to it".formatted(content),
					CONVERTERS + "or return a String, byte[] or ByteBuffer.");
			return Reply.NONE;
		}
		boolean bytes = raw == String.class || raw == CharSequence.class || raw == byte[].class
				|| raw == ByteBuffer.class;
		Missing missing = optional ? Missing.OPTIONAL
				: (!later && !bytes && reply.isOptional()) ? Missing.NULL : Missing.CONVERTED;
		Object[] groups = PayloadValidation.groups(method.getAnnotations());
		return new Reply(later, reader, missing, validation(method, groups, "reply", "reply"));
	}

	private static boolean isOneMessage(Class<?> type) {
		return !CompletionStage.class.isAssignableFrom(type) && !Future.class.isAssignableFrom(type)
				&& !BaseStream.class.isAssignableFrom(type) && !Iterator.class.isAssignableFrom(type)
				&& !ReplyTypes.isReactive(type) && Arguments.isPayload(type);
	}

	private @Nullable PayloadValidation validation(Method method, Object @Nullable [] groups, String name,
			String subject) {
		if (groups == null) {
			return null;
		}
		if (this.validator == null) {
			this.mistakes.add(method, "wants the %s to be validated, but there is no validator".formatted(subject),
					"Add the dependency 'org.springframework.boot:spring-boot-starter-validation', or define one bean of type org.springframework.validation.Validator.");
			return null;
		}
		return new PayloadValidation(this.validator, name, groups);
	}

	private @Nullable Duration timeout(Method method, Exchange annotation) {
		String text = this.embeddedValues.resolveStringValue(annotation.timeout());
		if (text == null || text.isBlank()) {
			return null;
		}
		try {
			Duration timeout = DurationStyle.detectAndParse(text.trim());
			if (!timeout.isNegative() && !timeout.isZero()) {
				return timeout;
			}
		}
		catch (IllegalArgumentException ex) {
			// Reported below, like a duration that is too short.
		}
		this.mistakes.add(method, "has the timeout '%s', which is not a duration of more than 0".formatted(text),
				"Write a duration such as '500ms' or '30s'.");
		return null;
	}

	/**
	 * Finds the default methods, including those of interfaces that are not public.
	 * @return handles of type {@code (Object,Object[])Object}
	 */
	static Map<Method, MethodHandle> defaults(Class<?> type) {
		Map<Method, MethodHandle> defaults = new HashMap<>();
		for (Method method : type.getMethods()) {
			if (method.isDefault()) {
				defaults.put(method, handle(method));
			}
		}
		return defaults;
	}

	private static MethodHandle handle(Method method) {
		Class<?> declaring = method.getDeclaringClass();
		try {
			MethodHandle handle = MethodHandles.privateLookupIn(declaring, MethodHandles.lookup())
				.unreflectSpecial(method, declaring)
				.asFixedArity();
			return handle.asType(handle.type().generic()).asSpreader(1, Object[].class, method.getParameterCount());
		}
		catch (IllegalAccessException ex) {
			throw new IllegalStateException("The default method %s of %s cannot be called: open its package to Spring"
				.formatted(Mistakes.describe(method), declaring.getName()), ex);
		}
	}

}
