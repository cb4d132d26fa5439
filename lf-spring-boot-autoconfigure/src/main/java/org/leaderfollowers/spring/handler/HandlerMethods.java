package org.leaderfollowers.spring.handler;

import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.OnClose;
import org.leaderfollowers.spring.annotation.OnDrain;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnIdle;
import org.leaderfollowers.spring.annotation.OnLogin;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.annotation.OnOpen;

import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.util.ClassUtils;

/**
 * The methods of a class that have the annotation of a {@link Phase}. The class, a
 * superclass or an interface may declare them. No instance of the class is needed.
 * Whether the methods can be called is not checked here.
 */
final class HandlerMethods {

	private final Class<?> type;

	private final Map<Phase, List<Method>> methods = new EnumMap<>(Phase.class);

	private final Map<Method, OnMessage> message;

	private final Map<Method, OnError> error;

	private HandlerMethods(Class<?> type) {
		this.type = type;
		for (Phase phase : Phase.values()) {
			this.methods.put(phase, List.copyOf(select(type, phase.annotation).keySet()));
		}
		this.message = select(type, OnMessage.class);
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
		// Sorted, because reflection returns methods in no fixed order.
		Map<Method, A> sorted = new LinkedHashMap<>();
		found.keySet()
			.stream()
			.sorted(Comparator.comparing(Method::getName).thenComparing(Method::toGenericString))
			.forEach((method) -> sorted.put(method, found.get(method)));
		return sorted;
	}

	/**
	 * Whether the class has no annotated methods.
	 * @return {@code true} if no method is annotated
	 */
	boolean isEmpty() {
		return methods().isEmpty();
	}

	/**
	 * Returns all annotated methods.
	 * @return the methods that are annotated
	 */
	List<Method> methods() {
		return this.methods.values().stream().flatMap(Collection::stream).distinct().toList();
	}

	/**
	 * Describes the methods for the endpoint.
	 * @param bean the name of the bean
	 * @param values resolves placeholders and expressions
	 */
	List<HandlerBeans.Mapping> mappings(String bean, UnaryOperator<String> values) {
		List<HandlerBeans.Mapping> mappings = new ArrayList<>();
		if (MessageHandler.class.isAssignableFrom(this.type)) {
			mappings.add(new HandlerBeans.Mapping(bean, this.type.getSimpleName(), "MessageHandler", List.of()));
		}
		this.methods.forEach((phase, found) -> found
			.forEach((method) -> mappings.add(new HandlerBeans.Mapping(bean, Mistakes.describeWithClass(method),
					annotation(phase, method), matches(this.message.get(method), values)))));
		return mappings;
	}

	private static String annotation(Phase phase, Method method) {
		return AnnotatedElementUtils.hasAnnotation(method, OnLogin.class) ? "@OnLogin" : phase.toString();
	}

	private static List<String> matches(@Nullable OnMessage annotation, UnaryOperator<String> values) {
		List<String> matches = new ArrayList<>();
		if (annotation != null) {
			List.of(annotation.type()).forEach((type) -> matches.add("type '%s'".formatted(values.apply(type))));
			List.of(annotation.prefix())
				.forEach((prefix) -> matches.add("prefix '%s'".formatted(values.apply(prefix))));
			if (annotation.isDefault()) {
				matches.add("default");
			}
		}
		return matches;
	}

	Class<?> type() {
		return this.type;
	}

	/**
	 * The methods of a phase.
	 */
	List<Method> of(Phase phase) {
		return this.methods.getOrDefault(phase, List.of());
	}

	Map<Method, OnMessage> message() {
		return this.message;
	}

	Map<Method, OnError> error() {
		return this.error;
	}

	/**
	 * The event for which a method is called.
	 */
	enum Phase {

		OPEN(OnOpen.class), MESSAGE(OnMessage.class), IDLE(OnIdle.class), DRAIN(OnDrain.class), CLOSE(OnClose.class),
		ERROR(OnError.class);

		/**
		 * The phases of the life of a connection. A bean has at most one method for each.
		 */
		static final List<Phase> LIFE = List.of(OPEN, IDLE, DRAIN, CLOSE);

		private final Class<? extends Annotation> annotation;

		Phase(Class<? extends Annotation> annotation) {
			this.annotation = annotation;
		}

		@Override
		public String toString() {
			return "@" + this.annotation.getSimpleName();
		}

	}

}
