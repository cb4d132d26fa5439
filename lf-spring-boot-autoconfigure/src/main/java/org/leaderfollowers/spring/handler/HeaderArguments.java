package org.leaderfollowers.spring.handler;

import java.net.InetAddress;
import java.net.InetSocketAddress;

import org.jspecify.annotations.Nullable;

import org.springframework.core.MethodParameter;
import org.springframework.core.convert.ConversionService;
import org.springframework.messaging.Message;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.handler.annotation.support.AbstractNamedValueMethodArgumentResolver;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringValueResolver;

/**
 * Supplies {@link Header @Header} parameters. Placeholders and expressions are resolved
 * by the first call for a parameter, which {@link Arguments} makes at start.
 */
final class HeaderArguments extends AbstractNamedValueMethodArgumentResolver {

	private final StringValueResolver embeddedValues;

	HeaderArguments(ConversionService conversionService, StringValueResolver embeddedValues) {
		super(conversionService, null);
		this.embeddedValues = embeddedValues;
	}

	@Override
	public boolean supportsParameter(MethodParameter parameter) {
		return parameter.hasParameterAnnotation(Header.class);
	}

	/**
	 * Lets a primitive parameter be {@code null} if Kotlin has a default value for it.
	 */
	static MethodParameter nullable(MethodParameter parameter) {
		return (parameter.getParameterType().isPrimitive() && parameter.isOptional()) ? new WrappedParameter(parameter)
				: parameter;
	}

	@Override
	protected NamedValueInfo createNamedValueInfo(MethodParameter parameter) {
		Header header = parameter.getParameterAnnotation(Header.class);
		if (header == null) {
			throw new IllegalArgumentException("No @Header: " + parameter);
		}
		// An anonymous subclass, because the constructor is protected.
		return new NamedValueInfo(resolve(header.name()), header.required(), resolve(header.defaultValue())) {
		};
	}

	private String resolve(String value) {
		String resolved = this.embeddedValues.resolveStringValue(value);
		return (resolved != null) ? resolved : "";
	}

	@Override
	protected @Nullable Object resolveArgumentInternal(MethodParameter parameter, Message<?> message, String name) {
		if (name.startsWith(LfHeaders.PREFIX) && !ConnectionMessage.knownHeaders().contains(name)) {
			throw new IllegalArgumentException(
					"The header '%s' does not exist. There are: %s. A name that does not begin with '%s' is that of an attribute of the connection"
						.formatted(name, String.join(", ", ConnectionMessage.knownHeaders()), LfHeaders.PREFIX));
		}
		Object value = ((ConnectionMessage) message).header(name);
		if (value instanceof InetSocketAddress address) {
			Class<?> type = parameter.getNestedParameterType();
			if (type == String.class) {
				return address.getAddress().getHostAddress() + ":" + address.getPort();
			}
			return (type == InetAddress.class) ? address.getAddress() : address;
		}
		return value;
	}

	@Override
	protected void handleMissingValue(String name, MethodParameter parameter, Message<?> message) {
		throw new MissingHeaderException(name,
				"Connection attribute '%s' is missing, which the parameter %s of %s needs".formatted(name,
						Arguments.describe(parameter), Mistakes.describeWithClass(parameter.getMethod())));
	}

	/**
	 * A parameter of a primitive type that appears as its wrapper, so it may be
	 * {@code null}.
	 */
	private static final class WrappedParameter extends MethodParameter {

		WrappedParameter(MethodParameter original) {
			super(original);
		}

		@Override
		public Class<?> getParameterType() {
			return ClassUtils.resolvePrimitiveIfNecessary(super.getParameterType());
		}

	}

}
