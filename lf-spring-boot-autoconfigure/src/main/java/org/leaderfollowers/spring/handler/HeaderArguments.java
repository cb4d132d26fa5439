package org.leaderfollowers.spring.handler;

import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.handler.HandlerMethod.Argument;

import org.springframework.core.MethodParameter;
import org.springframework.core.ResolvableType;
import org.springframework.core.convert.ConversionException;
import org.springframework.core.convert.ConversionService;
import org.springframework.core.convert.TypeDescriptor;
import org.springframework.messaging.MessageHeaders;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.handler.annotation.ValueConstants;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringValueResolver;

/**
 * Finds out at start what supplies {@link Header @Header} parameters.
 */
final class HeaderArguments {

	private static final Map<String, Function<Connection, @Nullable Object>> KNOWN = known();

	private final ConversionService conversionService;

	private final StringValueResolver embeddedValues;

	private final Mistakes mistakes;

	HeaderArguments(ConversionService conversionService, StringValueResolver embeddedValues, Mistakes mistakes) {
		this.conversionService = conversionService;
		this.embeddedValues = embeddedValues;
		this.mistakes = mistakes;
	}

	private static Map<String, Function<Connection, @Nullable Object>> known() {
		Map<String, Function<Connection, @Nullable Object>> known = new LinkedHashMap<>();
		known.put(LfHeaders.CONNECTION_ID, Connection::id);
		known.put(LfHeaders.CONNECTION_NAME, Connection::name);
		known.put(LfHeaders.SERVER, Connection::server);
		known.put(LfHeaders.REMOTE_ADDRESS, Connection::remoteAddress);
		known.put(LfHeaders.LOCAL_ADDRESS, Connection::localAddress);
		known.put(LfHeaders.TRANSPORT_ADDRESS, Connection::transportAddress);
		return known;
	}

	/**
	 * Supplies everything that a {@link Header @Header} parameter can name, and all
	 * attributes. Each call gets a map of its own.
	 */
	@Nullable Argument all(Method method, MethodParameter parameter) {
		Class<?> type = parameter.getParameterType();
		if (type == MessageHeaders.class) {
			return (connection, message, event) -> new MessageHeaders(values(connection));
		}
		if (type != Map.class) {
			this.mistakes.add(method, "has the parameter %s, which is annotated with @Headers but is no map"
				.formatted(Arguments.describe(parameter)), "Use the type Map<String, Object> or MessageHeaders.");
			return null;
		}
		return (connection, message, event) -> values(connection);
	}

	private static Map<String, Object> values(Connection connection) {
		Map<String, Object> values = new HashMap<>(connection.attributes());
		KNOWN.forEach((name, source) -> {
			Object value = source.apply(connection);
			if (value != null) {
				values.put(name, value);
			}
		});
		return values;
	}

	@Nullable Argument find(Method method, MethodParameter parameter, Header header) {
		String name = header.name().isEmpty() ? parameter.getParameterName()
				: this.embeddedValues.resolveStringValue(header.name());
		String described = Arguments.describe(parameter);
		if (name == null) {
			this.mistakes.add(method,
					"has the parameter %s, but the name of the header is unknown".formatted(described),
					"Write @Header(\"<name>\"), or compile with -parameters.");
			return null;
		}
		Function<Connection, @Nullable Object> source = KNOWN.get(name);
		if (source == null && name.startsWith(LfHeaders.PREFIX)) {
			this.mistakes.add(method,
					"has the parameter %s for the header '%s', which does not exist".formatted(described, name),
					"Use a constant of LfHeaders, or a name that does not begin with '%s' for an attribute of the connection. There are: %s."
						.formatted(LfHeaders.PREFIX, String.join(", ", KNOWN.keySet())));
			return null;
		}
		MethodParameter nested = parameter.nestedIfOptional();
		TypeDescriptor target = new TypeDescriptor(ResolvableType.forMethodParameter(nested), null,
				nested.getParameterAnnotations());
		Class<?> type = ClassUtils.resolvePrimitiveIfNecessary(nested.getNestedParameterType());
		boolean hasDefault = !ValueConstants.DEFAULT_NONE.equals(header.defaultValue());
		boolean optional = hasDefault || !header.required() || parameter.isOptional();
		if (optional && !hasDefault && parameter.getParameterType().isPrimitive()
				&& !(HandlerMethod.Handles.isKotlin(method) && parameter.isOptional())) {
			this.mistakes
				.add(method,
						"has the parameter %s, which is primitive and cannot be null when the header '%s' is missing"
							.formatted(described, name),
						"Give it a default value, or use the wrapper class or Optional.");
			return null;
		}
		String defaultText = hasDefault ? this.embeddedValues.resolveStringValue(header.defaultValue()) : null;
		Object defaultValue;
		try {
			defaultValue = hasDefault
					? this.conversionService.convert(defaultText, TypeDescriptor.valueOf(String.class), target) : null;
		}
		catch (ConversionException ex) {
			this.mistakes.add(method, "has the parameter %s, to which its default value '%s' cannot be converted"
				.formatted(described, defaultText), "Correct the default value.");
			return null;
		}
		Function<Connection, @Nullable Object> from = (source != null) ? source
				: (connection) -> connection.attributes().get(name);
		String missing = "Connection attribute '%s' is missing, which the parameter %s of %s needs".formatted(name,
				described, method.getDeclaringClass().getSimpleName() + "." + Mistakes.describe(method));
		boolean wrapped = parameter.getParameterType() == Optional.class;
		return (connection, message, event) -> {
			Object value = from.apply(connection);
			if (value == null) {
				if (!optional) {
					throw new MissingHeaderException(name, missing);
				}
				value = defaultValue;
			}
			else if (!type.isInstance(value)) {
				value = convert(value, type, target);
			}
			return wrapped ? Optional.ofNullable(value) : value;
		};
	}

	private @Nullable Object convert(Object value, Class<?> type, TypeDescriptor target) {
		if (value instanceof InetSocketAddress address) {
			if (type == String.class) {
				return address.getAddress().getHostAddress() + ":" + address.getPort();
			}
			if (type.isAssignableFrom(InetAddress.class)) {
				return address.getAddress();
			}
		}
		return this.conversionService.convert(value, TypeDescriptor.forObject(value), target);
	}

}
