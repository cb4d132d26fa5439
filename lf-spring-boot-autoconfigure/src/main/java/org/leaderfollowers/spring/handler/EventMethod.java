package org.leaderfollowers.spring.handler;

import java.lang.invoke.MethodHandle;
import java.lang.reflect.Method;
import java.lang.reflect.UndeclaredThrowableException;
import java.util.List;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.EventSource;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;

import org.springframework.core.ResolvableType;

/**
 * Handler for the events of an event source, which calls the only annotated method of an
 * {@link LfHandler @LfHandler} bean. A bean that implements {@link EventSource.Handler}
 * is called directly instead.
 *
 * @param name the name of the bean
 * @param method calls the bean, of type {@code (Object[])Object}
 */
record EventMethod(String name, MethodHandle method) implements EventSource.Handler<Object> {

	@Override
	public void handleEvent(Object event) throws Exception {
		try {
			Object ignored = (Object) this.method.invokeExact(new @Nullable Object[] { event });
		}
		catch (Exception | Error ex) {
			throw ex;
		}
		catch (Throwable ex) {
			throw new UndeclaredThrowableException(ex);
		}
	}

	/**
	 * Creates the handler.
	 * @param source the bean
	 * @param event the type of the events, or {@link Object} if it is unknown
	 */
	static EventSource.Handler<Object> handler(HandlerFactory.Source source, Class<?> event) {
		Mistakes mistakes = new Mistakes();
		HandlerMethods methods = HandlerMethods.of(source.type());
		EventSource.Handler<Object> handler = null;
		if (source.bean() instanceof EventSource.Handler<?> bean && methods.isEmpty()) {
			Class<?> taken = ResolvableType.forClass(EventSource.Handler.class, source.type()).getGeneric(0).resolve();
			check(taken, event, "Class " + source.type().getSimpleName(), mistakes);
			handler = named(bean, source.name());
		}
		else {
			MethodHandle method = method(source, methods, event, mistakes);
			handler = (method != null) ? new EventMethod(source.name(), method) : null;
		}
		mistakes.throwIfAny(source.problem(), source.type().getName());
		if (handler == null) {
			throw new IllegalStateException("no handler, and no mistake");
		}
		return handler;
	}

	@SuppressWarnings("unchecked") // check() has compared both types
	private static EventSource.Handler<Object> named(EventSource.Handler<?> bean, String name) {
		EventSource.Handler<Object> handler = (EventSource.Handler<Object>) bean;
		return new EventSource.Handler<>() {

			@Override
			public void handleEvent(Object event) throws Exception {
				handler.handleEvent(event);
			}

			@Override
			public String name() {
				return name;
			}

		};
	}

	private static @Nullable MethodHandle method(HandlerFactory.Source source, HandlerMethods methods, Class<?> event,
			Mistakes mistakes) {
		List<Method> candidates = methods.methods();
		if (candidates.size() != 1 || methods.message().size() != 1 || source.bean() instanceof EventSource.Handler) {
			mistakes.add("Class " + source.type().getSimpleName(),
					"must have one annotated method, with @OnMessage, or implement EventSource.Handler, to handle the events of a source; it has %s"
						.formatted(candidates.isEmpty() ? "neither" : mistakes.names(candidates)),
					"Let it have one method that is annotated with @OnMessage and takes the event, or implement EventSource.Handler.");
			return null;
		}
		Method method = candidates.get(0);
		OnMessage annotation = methods.message().get(method);
		if (annotation != null && (annotation.prefix().length > 0 || annotation.type().length > 0)) {
			mistakes.add(method, "has a prefix or type, which events do not have", "Write @OnMessage without them.");
		}
		if (method.getReturnType() != void.class) {
			mistakes.add(method, "returns a value, but an event is not replied to", "Let the method return nothing.");
		}
		if (method.getParameterCount() != 1) {
			mistakes.add(method, "must have one parameter, the event", "Remove the other parameters, or add it.");
		}
		else {
			Class<?> taken = ResolvableType.forMethodParameter(method, 0, source.type()).resolve();
			check(taken, event, "Method " + Mistakes.describe(method), mistakes);
		}
		return new HandlerMethod.Handles(source.bean(), mistakes).handle(method);
	}

	private static void check(@Nullable Class<?> taken, Class<?> event, String subject, Mistakes mistakes) {
		if (taken != null && event != Object.class && !taken.isAssignableFrom(event)) {
			mistakes.add(subject,
					"takes events of type %s, but those of the source are of type %s".formatted(taken.getName(),
							event.getName()),
					"Let it take a %s, or handle another source.".formatted(event.getSimpleName()));
		}
	}

}
