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
import org.leaderfollowers.spring.annotation.OnLogin;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.handler.HandlerMethods.Phase;
import org.leaderfollowers.spring.handler.MessageDispatch.Otherwise;
import org.leaderfollowers.spring.handler.PayloadReaders.PayloadReader;

import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.StringValueResolver;

/**
 * Determines at start how the {@link OnMessage @OnMessage} method for a message is
 * chosen.
 */
final class MessageMethods {

	/** A name instead of a class literal, since Jackson is optional. */
	private static final String JSON_TYPE_INFO = "com.fasterxml.jackson.annotation.JsonTypeInfo";

	/** The default value of {@link Discriminator}. */
	private static final String DEFAULT_PROPERTY = "type";

	private static final MessageDispatch NONE = (connection, message) -> null;

	private final List<BeanMethods> beans;

	private final PayloadReaders readers;

	private final @Nullable JsonConverter json;

	private final Text text;

	private final StringValueResolver embeddedValues;

	private final Mistakes mistakes;

	/** The owner of the methods, as the subject of a sentence in a message. */
	private final String subject;

	/**
	 * A method and the messages that it handles.
	 *
	 * @param bean the bean that has the method
	 * @param method the method
	 * @param annotation names the messages that the method handles
	 */
	private record Mapping(BeanMethods bean, Method method, OnMessage annotation) {

		boolean login() {
			return AnnotatedElementUtils.hasAnnotation(this.method, OnLogin.class);
		}

		boolean byType() {
			return this.annotation.type().length > 0;
		}

		boolean byPrefix() {
			return this.annotation.prefix().length > 0;
		}

		HandlerMethod bind(boolean converted) {
			return this.bean.bind(this.method, Phase.MESSAGE, converted);
		}

	}

	MessageMethods(List<BeanMethods> beans, PayloadReaders readers, @Nullable JsonConverter json, Text text,
			StringValueResolver embeddedValues, Mistakes mistakes, String subject) {
		this.beans = beans;
		this.readers = readers;
		this.json = json;
		this.text = text;
		this.embeddedValues = embeddedValues;
		this.mistakes = mistakes;
		this.subject = subject;
	}

	/**
	 * Prepares the choice of a method.
	 * @param handler the only bean, if it is a message handler itself
	 * @return chooses and calls the method; must not be used if a mistake was added
	 */
	MessageDispatch dispatch(@Nullable MessageHandler handler) {
		List<Mapping> mappings = new ArrayList<>();
		for (BeanMethods bean : this.beans) {
			bean.methods()
				.message()
				.forEach((method, annotation) -> mappings.add(new Mapping(bean, method, annotation)));
		}
		if (mappings.isEmpty()) {
			if (handler == null) {
				this.mistakes.add(this.subject, "has no method that is annotated with @OnMessage",
						"Annotate the method that handles messages with @OnMessage.");
				return NONE;
			}
			return (connection, message) -> {
				handler.onMessage(connection, message);
				return null;
			};
		}
		if (handler != null) {
			this.mistakes.add(this.subject,
					"implements MessageHandler, whose onMessage handles the messages, but has the method %s annotated with @OnMessage"
						.formatted(names(mappings)),
					"Remove @OnMessage, or no longer implement MessageHandler.");
		}
		List<Mapping> logins = mappings.stream().filter(Mapping::login).toList();
		List<Mapping> others = mappings.stream().filter((mapping) -> !mapping.login()).toList();
		String property = property();
		if (logins.isEmpty()) {
			return choose(mappings, property);
		}
		MessageDispatch login = choose(logins, property);
		// A client may log in again if a type or prefix distinguishes logins.
		boolean again = mappings.stream().allMatch((mapping) -> mapping.byType() || mapping.annotation().isDefault())
				|| mappings.stream().allMatch((mapping) -> mapping.byPrefix() || mapping.annotation().isDefault());
		return new MessageDispatch.ByLogin(login, choose((again || others.isEmpty()) ? mappings : others, property));
	}

	private MessageDispatch choose(List<Mapping> mappings, String property) {
		boolean byType = mappings.stream().anyMatch(Mapping::byType);
		boolean byPrefix = mappings.stream().anyMatch(Mapping::byPrefix);
		if (byType && byPrefix) {
			typesAndPrefixes(mappings);
			return NONE;
		}
		Mapping otherwise = defaultMethod(mappings);
		if (byPrefix) {
			return byPrefix(mappings, otherwise);
		}
		if (byType) {
			return byType(mappings, otherwise, property);
		}
		if (mappings.size() == 1) {
			HandlerMethod method = mappings.get(0).bind(false);
			return (connection, message) -> method.invoke(connection, message, null);
		}
		return byPayloadClass(mappings, otherwise);
	}

	private String names(List<Mapping> mappings) {
		return this.mistakes.names(mappings.stream().map(Mapping::method).toList());
	}

	/** The property of a JSON message that contains its type. */
	private String property() {
		Set<String> properties = new LinkedHashSet<>();
		for (BeanMethods bean : this.beans) {
			boolean byType = bean.methods().message().values().stream().anyMatch((on) -> on.type().length > 0);
			Discriminator discriminator = AnnotatedElementUtils.findMergedAnnotation(bean.source().type(),
					Discriminator.class);
			if (byType) {
				properties.add((discriminator != null) ? resolve(discriminator.property()) : DEFAULT_PROPERTY);
			}
			else if (discriminator != null) {
				this.mistakes.add(bean.subject(),
						"is annotated with @Discriminator, but no method is annotated with @OnMessage(\"<type>\")",
						"Write the types into the @OnMessage annotations, or remove @Discriminator.");
			}
		}
		if (properties.size() > 1) {
			this.mistakes.add(this.subject,
					"has handlers that choose their methods by different properties of a JSON message: "
							+ String.join(", ", properties),
					"Annotate all of them with the same @Discriminator.");
		}
		return properties.isEmpty() ? DEFAULT_PROPERTY : properties.iterator().next();
	}

	private void typesAndPrefixes(List<Mapping> mappings) {
		List<Mapping> both = mappings.stream().filter((mapping) -> mapping.byType() && mapping.byPrefix()).toList();
		both.forEach((mapping) -> this.mistakes.add(mapping.method(),
				"is annotated with @OnMessage for a type and for a prefix", "Remove the type or the prefix."));
		if (both.isEmpty()) {
			this.mistakes.add(this.subject, "has methods annotated with @OnMessage for types and others for prefixes",
					"Choose all of them by type, or all by prefix.");
		}
	}

	private @Nullable Mapping defaultMethod(List<Mapping> mappings) {
		List<Mapping> defaults = mappings.stream().filter((mapping) -> mapping.annotation().isDefault()).toList();
		for (Mapping mapping : defaults) {
			if (mapping.byType() || mapping.byPrefix()) {
				this.mistakes.add(mapping.method(),
						"is the default method, but is annotated with a type or prefix as well",
						"Remove isDefault, or the type or prefix.");
			}
		}
		if (defaults.size() > 1) {
			this.mistakes.add(this.subject, "has %d default methods: %s".formatted(defaults.size(), names(defaults)),
					"Let isDefault be true for one method at most.");
		}
		return defaults.isEmpty() ? null : defaults.get(0);
	}

	private MessageDispatch byPrefix(List<Mapping> mappings, @Nullable Mapping otherwise) {
		Map<String, Method> seen = new LinkedHashMap<>();
		List<MessageDispatch.ByPrefix.Prefix> prefixes = new ArrayList<>();
		for (Mapping mapping : mappings) {
			if (mapping.annotation().isDefault()) {
				continue;
			}
			HandlerMethod bound = mapping.bind(false);
			requireDiscriminator(mapping.method(), mapping.byPrefix(), "prefix = \"<prefix>\"");
			for (String unresolved : mapping.annotation().prefix()) {
				String prefix = resolve(unresolved);
				addOnce(seen, mapping.method(), "prefix", prefix);
				ByteBuffer bytes = this.text.encode(prefix);
				prefixes.add(new MessageDispatch.ByPrefix.Prefix(Text.bytes(bytes), mapping.annotation().stripPrefix(),
						bound));
			}
		}
		return new MessageDispatch.ByPrefix(prefixes,
				new Otherwise(bindDefault(otherwise),
						"A message begins with none of the prefixes of the @OnMessage methods: "
								+ String.join(", ", seen.keySet())));
	}

	private MessageDispatch byType(List<Mapping> mappings, @Nullable Mapping otherwise, String property) {
		Map<String, Method> seen = new LinkedHashMap<>();
		Map<String, HandlerMethod> types = new LinkedHashMap<>();
		for (Mapping mapping : mappings) {
			if (mapping.annotation().isDefault()) {
				continue;
			}
			HandlerMethod bound = mapping.bind(false);
			requireDiscriminator(mapping.method(), mapping.byType(), "\"<type>\"");
			for (String unresolved : mapping.annotation().type()) {
				String type = resolve(unresolved);
				addOnce(seen, mapping.method(), "type", type);
				types.put(type, bound);
			}
		}
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

	private MessageDispatch byPayloadClass(List<Mapping> mappings, @Nullable Mapping otherwise) {
		Map<Class<?>, HandlerMethod> bound = new LinkedHashMap<>();
		boolean distinct = true;
		for (Mapping mapping : mappings) {
			if (mapping != otherwise) {
				ResolvableType type = mapping.bean().payloadType(mapping.method());
				distinct &= type != null && bound.putIfAbsent(type.toClass(), mapping.bind(true)) == null;
			}
		}
		HandlerMethod boundOtherwise = bindDefault(otherwise);
		Class<?> common = distinct ? common(bound.keySet()) : null;
		PayloadReader reader = (common != null) ? this.readers.json(ResolvableType.forClass(common)) : null;
		if (reader == null) {
			this.mistakes.add(this.subject,
					"has several methods annotated with @OnMessage, and nothing tells which of them a message is for: %s"
						.formatted(names(mappings)),
					"Annotate each with @OnMessage(\"<type>\") to choose by the property 'type' of a JSON message, "
							+ "or with @OnMessage(prefix = \"<prefix>\"); or give each a payload class of its own, and let the supertype of these be annotated with @JsonTypeInfo.");
			return NONE;
		}
		return new MessageDispatch.ByPayloadClass(reader, bound,
				new Otherwise(boundOtherwise,
						"The payload of a message has none of the classes of the @OnMessage methods: "
								+ String.join(", ", bound.keySet().stream().map(Class::getSimpleName).toList())));
	}

	/**
	 * The common supertype of all classes whose annotation lets Jackson choose the class.
	 */
	private static @Nullable Class<?> common(Set<Class<?>> classes) {
		Set<Class<?>> common = new LinkedHashSet<>();
		addSupertypes(classes.iterator().next(), common);
		return common.stream()
			.filter((candidate) -> classes.stream().allMatch(candidate::isAssignableFrom))
			.filter((candidate) -> MergedAnnotations.from(candidate, SearchStrategy.DIRECT).isPresent(JSON_TYPE_INFO))
			.findFirst()
			.orElse(null);
	}

	private static void addSupertypes(@Nullable Class<?> type, Set<Class<?>> found) {
		if (type != null && found.add(type)) {
			addSupertypes(type.getSuperclass(), found);
			for (Class<?> implemented : type.getInterfaces()) {
				addSupertypes(implemented, found);
			}
		}
	}

	private void requireDiscriminator(Method method, boolean given, String example) {
		if (!given) {
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
					"is for the %s '%s', and so is %s".formatted(what, value, this.mistakes.name(other)),
					"Let each %s be that of one method.".formatted(what));
		}
	}

	private String resolve(String value) {
		String resolved = this.embeddedValues.resolveStringValue(value);
		return (resolved != null) ? resolved : "";
	}

	private static @Nullable HandlerMethod bindDefault(@Nullable Mapping mapping) {
		return (mapping != null) ? mapping.bind(false) : null;
	}

}
