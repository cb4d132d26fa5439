package org.leaderfollowers.spring.handler;

import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.stream.BaseStream;
import java.util.stream.Stream;

import org.leaderfollowers.spring.handler.HandlerMethods.Phase;

import org.springframework.beans.BeanUtils;
import org.springframework.core.KotlinDetector;
import org.springframework.core.MethodParameter;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ResolvableType;

/**
 * Checks at start whether the value that a method returns can be sent.
 *
 * @param converters convert replies
 * @param mistakes receives the methods whose return value cannot be sent
 */
record ReplyTypes(PayloadConverters converters, Mistakes mistakes) {

	private static final String DEFERRED_REMEDY = "Return a CompletableFuture or a Mono for one reply that comes later, or a Stream or a Flux for several.";

	/** Cached by class, because each reply is checked. */
	private static final ClassValue<Boolean> DEFERRED = new ClassValue<>() {

		@Override
		protected Boolean computeValue(Class<?> type) {
			return Callable.class.isAssignableFrom(type)
					|| (Flow.Publisher.class.isAssignableFrom(type) && !isReactive(type))
					|| (Future.class.isAssignableFrom(type) && !CompletionStage.class.isAssignableFrom(type));
		}

	};

	private static final ClassValue<Boolean> REACTIVE = new ClassValue<>() {

		@Override
		protected Boolean computeValue(Class<?> type) {
			return type != Object.class && !CompletionStage.class.isAssignableFrom(type)
					&& ReactiveAdapterRegistry.getSharedInstance().getAdapter(type) != null;
		}

	};

	void check(MethodParameter returned, Phase phase) {
		Method method = Objects.requireNonNull(returned.getMethod());
		ResolvableType type = ResolvableType.forMethodParameter(returned);
		boolean nothing = isNothing(type.toClass());
		if (phase == Phase.CLOSE && KotlinDetector.isSuspendingFunction(method)) {
			this.mistakes.add(method,
					"is a suspending function, but nothing waits for it when the connection is closed",
					"Remove the modifier 'suspend'.");
		}
		else if (phase == Phase.CLOSE && !nothing) {
			this.mistakes.add(method, "returns a value, but nothing can be sent when the connection is closed",
					"Let it return void.");
		}
		else if (isDeferred(type.toClass())) {
			this.mistakes.add(method, "returns a %s, which is not supported".formatted(type.toClass().getSimpleName()),
					DEFERRED_REMEDY);
		}
		else if (!canWrite(type)) {
			this.mistakes.add(method, "returns a %s, but nothing can convert it to a message".formatted(type),
					"Add the dependency 'org.springframework.boot:spring-boot-starter-jackson' for JSON, "
							+ "define a bean of type org.springframework.messaging.converter.MessageConverter, "
							+ "or return a String, byte[] or ByteBuffer.");
		}
	}

	/**
	 * Whether values of a type yield messages later in a way that is not supported.
	 */
	private static boolean isDeferred(Class<?> type) {
		return DEFERRED.get(type);
	}

	/** Rejects values that only their class at run time shows not to be messages. */
	static void checkValue(Object value) {
		Class<?> type = value.getClass();
		if (isDeferred(type) || isReactive(type) || value instanceof CompletionStage<?>
				|| value instanceof BaseStream<?, ?>) {
			throw new IllegalArgumentException(
					"A %s cannot be sent as a message. %s".formatted(type.getName(), DEFERRED_REMEDY));
		}
	}

	/** Whether values of a type publish messages. */
	static boolean isReactive(Class<?> type) {
		return REACTIVE.get(type);
	}

	private static boolean isNothing(Class<?> type) {
		return type == void.class || type == Void.class || type.getName().equals("kotlin.Unit");
	}

	/** Whether another thread may make the reply of a method. */
	static boolean comesLater(Method method) {
		Class<?> type = method.getReturnType();
		return KotlinDetector.isSuspendingFunction(method) || isReactive(type)
				|| CompletionStage.class.isAssignableFrom(type);
	}

	boolean canWrite(ResolvableType type) {
		Class<?> raw = type.toClass();
		if (this.converters.convertObjects() || raw == Object.class || isNothing(raw) || raw == byte[].class
				|| ByteBuffer.class.isAssignableFrom(raw) || CharSequence.class.isAssignableFrom(raw) || isText(raw)) {
			return true;
		}
		if (Optional.class == raw || CompletionStage.class.isAssignableFrom(raw) || Stream.class.isAssignableFrom(raw)
				|| Iterable.class.isAssignableFrom(raw) || Iterator.class.isAssignableFrom(raw) || isReactive(raw)) {
			ResolvableType content = type.as(raw).getGeneric(0);
			return content == ResolvableType.NONE || canWrite(content);
		}
		return BaseStream.class.isAssignableFrom(raw);
	}

	/**
	 * Whether values of a type, such as numbers and dates, are sent as text.
	 */
	static boolean isText(Class<?> type) {
		return BeanUtils.isSimpleValueType(type) || Path.class.isAssignableFrom(type);
	}

}
