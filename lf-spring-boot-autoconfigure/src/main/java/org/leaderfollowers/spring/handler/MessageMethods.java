package org.leaderfollowers.spring.handler;

import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.Discriminator;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.handler.HandlerMethods.Phase;
import org.leaderfollowers.spring.handler.MessageDispatch.Otherwise;
import org.leaderfollowers.spring.handler.PayloadReaders.PayloadReader;

import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringValueResolver;

/**
 * Finds out at start how the {@link OnMessage @OnMessage} method for a message is chosen.
 */
final class MessageMethods {

	/** By name, since Jackson need not be there. */
	private static final String JSON_TYPE_INFO = "com.fasterxml.jackson.annotation.JsonTypeInfo";

	private static final MessageDispatch NONE = (connection, message) -> null;

	private final HandlerMethods methods;

	private final Arguments arguments;

	private final PayloadReaders readers;

	private final @Nullable JsonConverter json;

	private final Text text;

	private final StringValueResolver embeddedValues;

	private final Mistakes mistakes;

	private final Binder binder;

	private final String subject;

	/**
	 * Makes a method ready to be called.
	 */
	@FunctionalInterface
	interface Binder {

		HandlerMethod bind(Method method, Phase phase, boolean converted);

	}

	MessageMethods(HandlerMethods methods, Arguments arguments, PayloadReaders readers, @Nullable JsonConverter json,
			Text text, StringValueResolver embeddedValues, Mistakes mistakes, Binder binder) {
		this.methods = methods;
		this.arguments = arguments;
		this.readers = readers;
		this.json = json;
		this.text = text;
		this.embeddedValues = embeddedValues;
		this.mistakes = mistakes;
		this.binder = binder;
		this.subject = "Class " + methods.type().getSimpleName();
	}

	/**
	 * Finds it out.
	 * @param bean the bean, if it is a message handler itself
	 * @return what chooses and calls; useless if there were mistakes
	 */
	MessageDispatch dispatch(@Nullable MessageHandler bean) {
		Map<Method, OnMessage> annotated = this.methods.message();
		Discriminator discriminator = AnnotatedElementUtils.findMergedAnnotation(this.methods.type(),
				Discriminator.class);
		if (annotated.isEmpty()) {
			if (bean == null) {
				this.mistakes.add(this.subject, "has no method that is annotated with @OnMessage",
						"Annotate the method that handles messages with @OnMessage.");
				return NONE;
			}
			return (connection, message) -> {
				bean.onMessage(connection, message);
				return null;
			};
		}
		if (bean != null) {
			this.mistakes.add(this.subject,
					"implements MessageHandler, whose onMessage handles the messages, but has the method %s annotated with @OnMessage"
						.formatted(Mistakes.describe(annotated.keySet())),
					"Remove @OnMessage, or no longer implement MessageHandler.");
		}
		boolean byType = annotated.values().stream().anyMatch((annotation) -> annotation.type().length > 0);
		boolean byPrefix = annotated.values().stream().anyMatch((annotation) -> annotation.prefix().length > 0);
		if (discriminator != null && !byType) {
			this.mistakes.add(this.subject,
					"is annotated with @Discriminator, but no method is annotated with @OnMessage(\"<type>\")",
					"Write the types into the @OnMessage annotations, or remove @Discriminator.");
		}
		if (byType && byPrefix) {
			typesAndPrefixes(annotated);
			return NONE;
		}
		Method otherwise = defaultMethod(annotated);
		if (byPrefix) {
			return byPrefix(annotated, otherwise);
		}
		if (byType) {
			return byType(annotated, otherwise, (discriminator != null) ? resolve(discriminator.property()) : "type");
		}
		if (annotated.size() == 1) {
			HandlerMethod method = bind(annotated.keySet().iterator().next(), false);
			return (connection, message) -> method.invoke(connection, message, null);
		}
		return byPayloadClass(annotated, otherwise);
	}

	private void typesAndPrefixes(Map<Method, OnMessage> annotated) {
		boolean inOneMethod = false;
		for (Map.Entry<Method, OnMessage> entry : annotated.entrySet()) {
			if (entry.getValue().type().length > 0 && entry.getValue().prefix().length > 0) {
				inOneMethod = true;
				this.mistakes.add(entry.getKey(), "is annotated with @OnMessage for a type and for a prefix",
						"Remove the type or the prefix.");
			}
		}
		if (!inOneMethod) {
			this.mistakes.add(this.subject, "has methods annotated with @OnMessage for types and others for prefixes",
					"Choose all of them by type, or all by prefix.");
		}
	}

	private @Nullable Method defaultMethod(Map<Method, OnMessage> annotated) {
		List<Method> defaults = new ArrayList<>();
		annotated.forEach((method, annotation) -> {
			if (annotation.isDefault()) {
				defaults.add(method);
				if (annotation.type().length > 0 || annotation.prefix().length > 0) {
					this.mistakes.add(method, "is the default method, but is annotated with a type or prefix as well",
							"Remove isDefault, or the type or prefix.");
				}
			}
		});
		if (defaults.size() > 1) {
			this.mistakes.add(this.subject,
					"has %d default methods: %s".formatted(defaults.size(), Mistakes.describe(defaults)),
					"Let isDefault be true for one method at most.");
		}
		return defaults.isEmpty() ? null : defaults.get(0);
	}

	private MessageDispatch byPrefix(Map<Method, OnMessage> annotated, @Nullable Method otherwise) {
		Map<String, Method> seen = new LinkedHashMap<>();
		List<MessageDispatch.ByPrefix.Prefix> prefixes = new ArrayList<>();
		annotated.forEach((method, annotation) -> {
			if (annotation.isDefault()) {
				return;
			}
			HandlerMethod bound = bind(method, false);
			requireDiscriminator(method, annotation.prefix(), "prefix = \"<prefix>\"");
			for (String unresolved : annotation.prefix()) {
				String prefix = resolve(unresolved);
				addOnce(seen, method, "prefix", prefix);
				ByteBuffer bytes = this.text.encode(prefix);
				prefixes.add(new MessageDispatch.ByPrefix.Prefix(Text.bytes(bytes), annotation.stripPrefix(), bound));
			}
		});
		return new MessageDispatch.ByPrefix(prefixes,
				new Otherwise(bindDefault(otherwise),
						"A message begins with none of the prefixes of the @OnMessage methods: "
								+ String.join(", ", seen.keySet())));
	}

	private MessageDispatch byType(Map<Method, OnMessage> annotated, @Nullable Method otherwise, String property) {
		Map<String, Method> seen = new LinkedHashMap<>();
		Map<String, HandlerMethod> types = new LinkedHashMap<>();
		annotated.forEach((method, annotation) -> {
			if (annotation.isDefault()) {
				return;
			}
			HandlerMethod bound = bind(method, false);
			requireDiscriminator(method, annotation.type(), "\"<type>\"");
			for (String unresolved : annotation.type()) {
				String type = resolve(unresolved);
				addOnce(seen, method, "type", type);
				types.put(type, bound);
			}
		});
		HandlerMethod bound = bindDefault(otherwise);
		if (this.json == null) {
			this.mistakes.add(this.subject,
					"has methods that are chosen by the property '%s' of a JSON message, but there is no JsonMapper"
						.formatted(property),
					"Add the dependency 'org.springframework.boot:spring-boot-starter-jackson', or choose by prefix.");
			return NONE;
		}
		return new MessageDispatch.ByType(this.readers, this.json, property, types,
				new Otherwise(bound, "The property '%s' of a message is none of the types of the @OnMessage methods: %s"
					.formatted(property, String.join(", ", seen.keySet()))));
	}

	private MessageDispatch byPayloadClass(Map<Method, OnMessage> annotated, @Nullable Method otherwise) {
		Map<Class<?>, Method> classes = new LinkedHashMap<>();
		Map<Class<?>, HandlerMethod> bound = new LinkedHashMap<>();
		boolean distinct = true;
		for (Method method : annotated.keySet()) {
			if (method == otherwise) {
				continue;
			}
			ResolvableType type = this.arguments.payloadType(method);
			distinct &= type != null && classes.putIfAbsent(type.toClass(), method) == null;
			if (type != null) {
				bound.put(type.toClass(), bind(method, true));
			}
		}
		HandlerMethod boundOtherwise = bindDefault(otherwise);
		Class<?> common = distinct ? common(classes.keySet()) : null;
		PayloadReader reader = (common != null) ? this.readers.json(ResolvableType.forClass(common)) : null;
		if (reader == null) {
			this.mistakes.add(this.subject,
					"has several methods annotated with @OnMessage, and nothing tells which of them a message is for: %s"
						.formatted(Mistakes.describe(annotated.keySet())),
					"Annotate each with @OnMessage(\"<type>\") to choose by the property 'type' of a JSON message, "
							+ "or with @OnMessage(prefix = \"<prefix>\"); or give each a payload class of its own, and let the supertype of these be annotated with @JsonTypeInfo.");
			return NONE;
		}
		return new MessageDispatch.ByPayloadClass(reader, bound,
				new Otherwise(boundOtherwise,
						"The payload of a message has none of the classes of the @OnMessage methods: "
								+ String.join(", ", classes.keySet().stream().map(Class::getSimpleName).toList())));
	}

	/** The supertype of all classes that tells Jackson which of them a message is. */
	private static @Nullable Class<?> common(Set<Class<?>> classes) {
		Set<Class<?>> common = new LinkedHashSet<>();
		Class<?> first = classes.iterator().next();
		for (Class<?> type = first; type != null && type != Object.class; type = type.getSuperclass()) {
			common.add(type);
		}
		common.addAll(ClassUtils.getAllInterfacesForClassAsSet(first));
		return common.stream()
			.filter((candidate) -> classes.stream().allMatch(candidate::isAssignableFrom))
			.filter((candidate) -> MergedAnnotations.from(candidate, SearchStrategy.DIRECT).isPresent(JSON_TYPE_INFO))
			.findFirst()
			.orElse(null);
	}

	private void requireDiscriminator(Method method, String[] values, String example) {
		if (values.length == 0) {
			this.mistakes.add(method, "does not tell which messages it is for, while other methods do",
					"Write @OnMessage(%s), or @OnMessage(isDefault = true) for all messages that no other method is for."
						.formatted(example));
		}
	}

	private void addOnce(Map<String, Method> seen, Method method, String what, String value) {
		if (value.isEmpty()) {
			this.mistakes.add(method, "has an empty " + what,
					"Write @OnMessage(isDefault = true) for all messages that no other method is for.");
		}
		Method other = seen.putIfAbsent(value, method);
		if (other != null) {
			this.mistakes.add(method,
					"is for the %s '%s', and so is %s".formatted(what, value, Mistakes.describe(other)),
					"Let each %s be that of one method.".formatted(what));
		}
	}

	private String resolve(String value) {
		String resolved = this.embeddedValues.resolveStringValue(value);
		return (resolved != null) ? resolved : "";
	}

	private HandlerMethod bind(Method method, boolean converted) {
		return this.binder.bind(method, Phase.MESSAGE, converted);
	}

	private @Nullable HandlerMethod bindDefault(@Nullable Method method) {
		return (method != null) ? bind(method, false) : null;
	}

}
