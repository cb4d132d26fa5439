package org.leaderfollowers.spring.handler;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletionStage;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.internal.LoginFailures;

import org.springframework.aop.support.AopUtils;
import org.springframework.core.CoroutinesUtils;
import org.springframework.core.KotlinDetector;
import org.springframework.core.MethodParameter;
import org.springframework.messaging.Message;
import org.springframework.messaging.handler.invocation.HandlerMethodReturnValueHandler;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * A method of a bean that is prepared for calls.
 */
class HandlerMethod {

	private final MethodHandle handle;

	private final Argument[] arguments;

	private final PayloadValidation.@Nullable OfArguments validation;

	private final @Nullable ReturnValue returnValue;

	/**
	 * Creates a method.
	 * @param handle bound to the bean, of type {@code (Object[])Object}
	 * @param arguments supply the arguments, in the order of the parameters
	 * @param validation validates the arguments, or {@code null} for no validation
	 * @param returnValue handles the return value; {@code null} if the return value is
	 * the reply
	 */
	HandlerMethod(MethodHandle handle, Argument[] arguments, PayloadValidation.@Nullable OfArguments validation,
			@Nullable ReturnValue returnValue) {
		this.handle = handle;
		this.arguments = arguments;
		this.validation = validation;
		this.returnValue = returnValue;
	}

	/**
	 * Calls the method.
	 * @return the reply
	 * @see Argument#get
	 */
	@Nullable Object invoke(Connection connection, @Nullable ByteBuffer message, @Nullable Object event) throws Throwable {
		Argument[] arguments = this.arguments;
		@Nullable Object[] values = new @Nullable Object[arguments.length];
		for (int i = 0; i < arguments.length; i++) {
			values[i] = arguments[i].get(connection, message, event);
		}
		if (this.validation != null) {
			this.validation.validate(values);
		}
		if (this.returnValue != null) {
			// Created first, because the method may move the position of the buffer.
			Message<?> received = new ConnectionMessage(connection, message);
			this.returnValue.handle((Object) this.handle.invokeExact(values), received);
			return null;
		}
		return (Object) this.handle.invokeExact(values);
	}

	/**
	 * A method that logs clients in. Its failures count also if the client has logged in
	 * before: it could otherwise guess the passwords of others without a limit.
	 */
	static final class Login extends HandlerMethod {

		Login(MethodHandle handle, Argument[] arguments, PayloadValidation.@Nullable OfArguments validation,
				@Nullable ReturnValue returnValue) {
			super(handle, arguments, validation, returnValue);
		}

		@Override
		@Nullable Object invoke(Connection connection, @Nullable ByteBuffer message, @Nullable Object event) throws Throwable {
			LoginFailures failures = LoginFailures.of(connection);
			if (failures == LoginFailures.UNLIMITED) {
				return super.invoke(connection, message, event);
			}
			synchronized (failures.lock()) {
				failures.check();
				int before = failures.count();
				try {
					return watched(super.invoke(connection, message, event), () -> failures.failedSince(before));
				}
				catch (Throwable ex) {
					failures.failedSince(before);
					throw ex;
				}
			}
		}

	}

	/** A login may fail after its method has returned. */
	private static @Nullable Object watched(@Nullable Object reply, Runnable onFailure) {
		if (reply instanceof CompletionStage<?> later) {
			return later.whenComplete((value, failure) -> {
				if (failure != null) {
					onFailure.run();
				}
			});
		}
		return (reply != null && ReplyTypes.isReactive(reply.getClass())) ? PublishedMessages.watched(reply, onFailure)
				: reply;
	}

	/**
	 * Handles the return value of a method, which is then not the reply.
	 *
	 * @param handler a bean of the application
	 * @param type the return type of the method
	 */
	record ReturnValue(HandlerMethodReturnValueHandler handler, MethodParameter type) {

		void handle(@Nullable Object value, Message<?> message) throws Exception {
			this.handler.handleReturnValue(value, this.type, message);
		}

	}

	/**
	 * Supplies one argument of a method for each call.
	 */
	@FunctionalInterface
	interface Argument {

		/**
		 * Supplies the argument.
		 * @param connection the connection
		 * @param message the message, or {@code null} if the call is not about a message
		 * @param event the failure, the reason of a close, the type of an idle event, or
		 * the payload if it has been converted already; {@code null} otherwise
		 */
		@Nullable Object get(Connection connection, @Nullable ByteBuffer message, @Nullable Object event) throws Exception;

	}

	/**
	 * Creates method handles for the methods of a bean, which may be behind a proxy.
	 *
	 * @param bean the bean
	 * @param mistakes receives the methods that cannot be called
	 */
	record Handles(Object bean, Mistakes mistakes) {

		/** Stands in for a method that cannot be called, until the start fails. */
		static final MethodHandle NONE = MethodHandles.empty(MethodType.methodType(Object.class, Object[].class));

		private static final boolean COROUTINES = KotlinDetector.isKotlinReflectPresent()
				&& ClassUtils.isPresent("kotlinx.coroutines.reactor.MonoKt", HandlerMethod.class.getClassLoader());

		/** Calls a suspending function and returns a publisher of its result. */
		private static final MethodHandle SUSPENDING = suspending();

		private static MethodHandle suspending() {
			try {
				return MethodHandles.lookup()
					.findStatic(Handles.class, "suspend",
							MethodType.methodType(Object.class, Method.class, Object.class, Object[].class));
			}
			catch (ReflectiveOperationException ex) {
				throw new ExceptionInInitializerError(ex);
			}
		}

		private static Object suspend(Method method, Object bean, @Nullable Object[] arguments) {
			return CoroutinesUtils.invokeSuspendingFunction(method, bean, arguments);
		}

		/**
		 * Creates a handle.
		 * @param method a method of the class of the bean
		 * @return a handle of type {@code (Object[])Object}, which does nothing if the
		 * method cannot be called
		 */
		MethodHandle handle(Method method) {
			Method invocable = invocable(method);
			if (invocable == null) {
				return NONE;
			}
			try {
				ReflectionUtils.makeAccessible(invocable);
				if (KotlinDetector.isSuspendingFunction(method)) {
					return SUSPENDING.bindTo(invocable).bindTo(this.bean);
				}
				MethodHandle handle = MethodHandles.lookup().unreflect(invocable).asFixedArity().bindTo(this.bean);
				MethodHandle spread = handle.asType(handle.type().generic())
					.asSpreader(Object[].class, invocable.getParameterCount());
				return isKotlin(method) ? KotlinDefaults.bind(method, this.bean, spread) : spread;
			}
			catch (IllegalAccessException | RuntimeException ex) {
				// For example, the package is in a module that does not open it.
				this.mistakes.add(method, "cannot be accessed (%s)".formatted(ex.getMessage()),
						"Make the method and its class public, or open the package to Spring.");
				return NONE;
			}
		}

		static boolean isKotlin(Method method) {
			return KotlinDetector.isKotlinReflectPresent() && KotlinDetector.isKotlinType(method.getDeclaringClass());
		}

		private @Nullable Method invocable(Method method) {
			boolean proxied = AopUtils.isAopProxy(this.bean);
			if (Modifier.isStatic(method.getModifiers())) {
				this.mistakes.add(method, "is static", "Make it an instance method.");
			}
			else if (Modifier.isPrivate(method.getModifiers())) {
				this.mistakes.add(method, "is private", "Let it be package-private, protected or public.");
			}
			else if (KotlinDetector.isSuspendingFunction(method) && !COROUTINES) {
				this.mistakes.add(method, "is a suspending function, but the libraries to call it are missing",
						"Add the dependencies 'org.jetbrains.kotlinx:kotlinx-coroutines-reactor' and 'org.jetbrains.kotlin:kotlin-reflect'.");
			}
			else if (proxied && AopUtils.isCglibProxy(this.bean) && isNotProxied(method)) {
				this.mistakes.add(method,
						"is final or not visible to the proxy around the bean (for a transaction, for example), "
								+ "so that it would be called on the proxy itself",
						"Let the method be public and not final.");
			}
			else {
				try {
					return AopUtils.selectInvocableMethod(method, this.bean.getClass());
				}
				catch (IllegalStateException ex) {
					this.mistakes.add(method,
							"is not declared by an interface, but the bean is behind a JDK proxy, which has the methods of interfaces only",
							"Declare the method in an interface of the bean, or let the proxy extend the class (proxyTargetClass=true).");
				}
			}
			return null;
		}

		/** Whether a proxy that is a subclass does not override the method. */
		private boolean isNotProxied(Method method) {
			if (Modifier.isFinal(method.getModifiers())) {
				return true;
			}
			boolean packagePrivate = !Modifier.isPublic(method.getModifiers())
					&& !Modifier.isProtected(method.getModifiers());
			Class<?> declaring = method.getDeclaringClass();
			Class<?> proxy = this.bean.getClass();
			return packagePrivate && (declaring.getClassLoader() != proxy.getClassLoader()
					|| !declaring.getPackageName().equals(proxy.getPackageName()));
		}

	}

}
