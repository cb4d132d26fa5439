package org.leaderfollowers.spring.handler;

import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.leaderfollowers.spring.annotation.OnClose;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.annotation.OnOpen;

import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.util.ClassUtils;

/**
 * The methods of a class that are annotated with {@link OnOpen @OnOpen},
 * {@link OnMessage @OnMessage}, {@link OnClose @OnClose} or {@link OnError @OnError}:
 * declared by itself, by a superclass or by an interface. Needs no instance, and does not
 * check whether the methods can be called.
 */
final class HandlerMethods {

	private final Class<?> type;

	private final Map<Method, OnOpen> open;

	private final Map<Method, OnMessage> message;

	private final Map<Method, OnClose> close;

	private final Map<Method, OnError> error;

	private HandlerMethods(Class<?> type) {
		this.type = type;
		this.open = select(type, OnOpen.class);
		this.message = select(type, OnMessage.class);
		this.close = select(type, OnClose.class);
		this.error = select(type, OnError.class);
	}

	/**
	 * Finds the methods of a class.
	 * @param type the class of a bean, not of a proxy
	 * @return its methods
	 */
	static HandlerMethods of(Class<?> type) {
		return new HandlerMethods(ClassUtils.getUserClass(type));
	}

	private static <A extends Annotation> Map<Method, A> select(Class<?> type, Class<A> annotation) {
		Map<Method, A> found = MethodIntrospector.selectMethods(type,
				(MethodIntrospector.MetadataLookup<A>) (method) -> AnnotatedElementUtils.findMergedAnnotation(method,
						annotation));
		// The order of reflection is that of nobody.
		Map<Method, A> sorted = new LinkedHashMap<>();
		found.keySet()
			.stream()
			.sorted(Comparator.comparing(Method::getName).thenComparing(Method::toGenericString))
			.forEach((method) -> sorted.put(method, found.get(method)));
		return sorted;
	}

	/**
	 * Whether there are none.
	 * @return {@code true} if no method is annotated
	 */
	boolean isEmpty() {
		return methods().isEmpty();
	}

	/**
	 * All of them.
	 * @return the methods that are annotated
	 */
	List<Method> methods() {
		return Stream.of(this.open, this.message, this.close, this.error)
			.flatMap((methods) -> methods.keySet().stream())
			.distinct()
			.toList();
	}

	Class<?> type() {
		return this.type;
	}

	Map<Method, OnOpen> open() {
		return this.open;
	}

	Map<Method, OnMessage> message() {
		return this.message;
	}

	Map<Method, OnClose> close() {
		return this.close;
	}

	Map<Method, OnError> error() {
		return this.error;
	}

	/**
	 * When a method is called.
	 */
	enum Phase {

		OPEN("@OnOpen"), MESSAGE("@OnMessage"), CLOSE("@OnClose"), ERROR("@OnError");

		private final String annotation;

		Phase(String annotation) {
			this.annotation = annotation;
		}

		@Override
		public String toString() {
			return this.annotation;
		}

	}

}
