package org.leaderfollowers.spring.handler;

import java.lang.invoke.MethodHandle;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnLogin;
import org.leaderfollowers.spring.handler.HandlerMethod.Argument;
import org.leaderfollowers.spring.handler.HandlerMethod.ReturnValue;
import org.leaderfollowers.spring.handler.HandlerMethods.Phase;

import org.springframework.core.MethodParameter;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.messaging.handler.invocation.HandlerMethodReturnValueHandler;

/**
 * Prepares the annotated methods of one bean for calls by one server. Mistakes are
 * collected, not thrown.
 */
final class BeanMethods {

	private final HandlerFactory.Source source;

	private final HandlerMethods methods;

	private final HandlerMethod.Handles handles;

	private final Arguments arguments;

	private final ReplyTypes replyTypes;

	private final List<HandlerMethodReturnValueHandler> returnValueHandlers;

	private final Mistakes mistakes;

	BeanMethods(HandlerFactory.Source source, Arguments arguments, ReplyTypes replyTypes,
			List<HandlerMethodReturnValueHandler> returnValueHandlers, Mistakes mistakes) {
		this.source = source;
		this.methods = HandlerMethods.of(source.type());
		this.handles = new HandlerMethod.Handles(source.bean(), mistakes);
		this.arguments = arguments;
		this.replyTypes = replyTypes;
		this.returnValueHandlers = returnValueHandlers;
		this.mistakes = mistakes;
	}

	HandlerFactory.Source source() {
		return this.source;
	}

	HandlerMethods methods() {
		return this.methods;
	}

	/** The class, as the subject of a sentence in a message. */
	String subject() {
		return "Class " + this.source.type().getSimpleName();
	}

	/**
	 * Finds the type of the payload of a method.
	 * @return the type, or {@code null} if the method does not take it
	 */
	@Nullable ResolvableType payloadType(Method method) {
		return this.arguments.payloadType(method);
	}

	/**
	 * Prepares a method for calls.
	 * @param converted whether the payload has been converted before the call
	 * @return the method; must not be called if a mistake was added
	 */
	HandlerMethod bind(Method method, Phase phase, boolean converted) {
		MethodParameter returned = new MethodParameter(method, -1).withContainingClass(this.source.type());
		ReturnValue returnValue = (phase != Phase.CLOSE) ? returnValue(returned) : null;
		if (returnValue == null) {
			this.replyTypes.check(returned, phase);
		}
		MethodHandle handle = this.handles.handle(method);
		Argument[] found = this.arguments.find(method, phase, converted);
		PayloadValidation.@Nullable OfArguments validation = this.arguments.validation(method, this.source.bean());
		return AnnotatedElementUtils.hasAnnotation(method, OnLogin.class)
				? new HandlerMethod.Login(handle, found, validation, returnValue)
				: new HandlerMethod(handle, found, validation, returnValue);
	}

	private @Nullable ReturnValue returnValue(MethodParameter returned) {
		return this.returnValueHandlers.stream()
			.filter((candidate) -> candidate.supportsReturnType(returned))
			.findFirst()
			.map((handler) -> new ReturnValue(handler, returned))
			.orElse(null);
	}

	/**
	 * Prepares the methods for failures.
	 * @param errorMethods receives the methods
	 */
	void addErrorMethods(ErrorMethods errorMethods) {
		this.methods.error().forEach((method, annotation) -> {
			ErrorMethods.ErrorMethod bound = new ErrorMethods.ErrorMethod(method, bind(method, Phase.ERROR, false),
					annotation.close(), this.arguments.payloadType(method) != null,
					this.arguments.needsPayload(method));
			if (annotation.close() && ReplyTypes.comesLater(method)) {
				this.mistakes.add(method,
						"is annotated with @OnError(close = true), but the connection would be closed before its reply",
						"Return the reply itself, or let close be false.");
			}
			for (Class<? extends Throwable> type : errorTypes(method, annotation)) {
				ErrorMethods.ErrorMethod other = errorMethods.add(type, bound);
				if (other != null) {
					this.mistakes.add(method,
							"is annotated with @OnError for %s, and so is %s".formatted(type.getSimpleName(),
									this.mistakes.name(other.declared())),
							"Keep one of them, or let each be for a type of its own.");
				}
			}
		});
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
