package org.leaderfollowers.spring.handler;

import java.lang.invoke.MethodHandle;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.annotation.LfClient;
import org.leaderfollowers.spring.interceptor.ExchangeInterceptor;
import org.leaderfollowers.spring.interceptor.ExchangeInterceptor.ExchangeCall;

import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.beans.factory.config.EmbeddedValueResolver;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.messaging.converter.MessageConverter;
import org.springframework.util.Assert;
import org.springframework.util.StringValueResolver;
import org.springframework.validation.Validator;

/**
 * Implements interfaces that are annotated with {@link LfClient @LfClient}. Placeholders,
 * timeouts and converters are resolved when an object is created, so mistakes fail the
 * start of the application.
 */
public final class ClientProxies {

	private final StringValueResolver embeddedValues;

	private final PayloadConverters converters;

	private final @Nullable Validator validator;

	private final List<ExchangeInterceptor> interceptors;

	private final Exchangers exchangers;

	/**
	 * Creates an object that implements interfaces.
	 * @param beanFactory resolves placeholders and expressions
	 * @param messageConverters converters that are tried before all others, in this order
	 * @param validator validates requests and replies, or {@code null} for no validation
	 * @param interceptors surround the calls, the first one outermost
	 * @param exchangers finds the object that sends the requests of an interface
	 */
	public ClientProxies(ConfigurableBeanFactory beanFactory, List<MessageConverter> messageConverters,
			@Nullable Validator validator, List<ExchangeInterceptor> interceptors, Exchangers exchangers) {
		Assert.notNull(beanFactory, "'beanFactory' must not be null");
		Assert.notNull(messageConverters, "'messageConverters' must not be null");
		Assert.notNull(interceptors, "'interceptors' must not be null");
		Assert.notNull(exchangers, "'exchangers' must not be null");
		this.embeddedValues = new EmbeddedValueResolver(beanFactory);
		this.converters = PayloadConverters.of(beanFactory, messageConverters);
		this.validator = validator;
		this.interceptors = List.copyOf(interceptors);
		this.exchangers = exchangers;
	}

	/**
	 * Implements an interface.
	 * @param <T> the interface
	 * @param type the interface
	 * @return an object whose methods exchange messages; safe for many threads
	 * @throws IllegalArgumentException if the type is not an interface, is not annotated,
	 * or its annotation names no client
	 * @throws RuntimeException if the interface has methods that cannot be implemented;
	 * the failure analysis says why
	 */
	public <T> T create(Class<T> type) {
		LfClient annotation = AnnotatedElementUtils.findMergedAnnotation(type, LfClient.class);
		Assert.isTrue(type.isInterface() && annotation != null,
				() -> "%s must be an interface that is annotated with @LfClient".formatted(type.getName()));
		String client = this.embeddedValues.resolveStringValue(annotation.value());
		Assert.hasText(client, () -> "%s must name the client that @LfClient is for".formatted(type.getName()));
		Exchanger exchanger = this.exchangers.find(client, type);
		Map<Method, ExchangeMethod> methods = new ExchangeMethods(type, exchanger, this.converters, this.validator,
				this.embeddedValues)
			.find();
		List<ExchangeInterceptor> supporting = this.interceptors.stream()
			.filter((interceptor) -> interceptor.supports(client))
			.toList();
		return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] { type },
				new Invocations(type, client, methods, ExchangeMethods.defaults(type), supporting)));
	}

	/**
	 * Finds the objects that send the requests of interfaces. A bean of this type
	 * replaces the clients, for example in tests.
	 */
	@FunctionalInterface
	public interface Exchangers {

		/**
		 * Finds the object that sends the requests of an interface.
		 * @param client the name of the client
		 * @param type the interface, for error messages
		 * @return the object that sends the requests
		 */
		Exchanger find(String client, Class<?> type);

	}

	/**
	 * Sends requests and matches replies to them, as a
	 * {@link org.leaderfollowers.TcpClient} does.
	 */
	public interface Exchanger {

		/**
		 * Sends a request and waits for its reply.
		 * @param request the payload
		 * @param timeout how long the exchange may take, or {@code null} for the timeout
		 * of the client
		 * @return the payload of the reply, which belongs to the caller
		 */
		ByteBuffer exchange(ByteBuffer request, @Nullable Duration timeout);

		/**
		 * Sends a request without waiting for its reply.
		 * @param request the payload
		 * @param timeout how long the exchange may take, or {@code null} for the timeout
		 * of the client
		 * @return a future that completes with the payload of the reply
		 */
		CompletableFuture<ByteBuffer> exchangeAsync(ByteBuffer request, @Nullable Duration timeout);

		/**
		 * Returns the charset of text messages.
		 * @return UTF-8 unless overridden
		 */
		default Charset charset() {
			return StandardCharsets.UTF_8;
		}

	}

	/**
	 * Implements the methods of an interface.
	 *
	 * @param type the interface
	 * @param client the name of the client
	 * @param methods its methods that exchange messages
	 * @param defaults its default methods
	 * @param interceptors surround the calls of the methods that exchange messages
	 */
	private record Invocations(Class<?> type, String client, Map<Method, ExchangeMethod> methods,
			Map<Method, MethodHandle> defaults, List<ExchangeInterceptor> interceptors) implements InvocationHandler {

		@Override
		public @Nullable Object invoke(Object proxy, Method method, @Nullable Object @Nullable [] arguments)
				throws Throwable {
			ExchangeMethod exchange = this.methods.get(method);
			if (exchange == null) {
				MethodHandle body = this.defaults.get(method);
				return (body != null) ? (Object) body.invokeExact(proxy, arguments)
						: invokeOfObject(proxy, method, arguments);
			}
			Object request = (arguments != null) ? arguments[0] : null;
			if (request == null) {
				throw new IllegalArgumentException(
						"The request of %s must not be null".formatted(exchange.description()));
			}
			return this.interceptors.isEmpty() ? exchange.exchange(request)
					: new Call(this.client, exchange, request, this.interceptors, 0).proceed();
		}

		private Object invokeOfObject(Object proxy, Method method, @Nullable Object @Nullable [] arguments) {
			return switch (method.getName()) {
				case "equals" -> arguments != null && proxy == arguments[0];
				case "hashCode" -> System.identityHashCode(proxy);
				default -> "%s of client '%s'".formatted(this.type.getName(), this.client);
			};
		}

	}

	/**
	 * A call that has passed the interceptors before the index {@code next}.
	 */
	private record Call(String client, ExchangeMethod exchange, Object request, List<ExchangeInterceptor> interceptors,
			int next) implements ExchangeCall {

		@Override
		public Method method() {
			return this.exchange.method();
		}

		@Override
		public @Nullable Object proceed() throws Exception {
			if (this.next == this.interceptors.size()) {
				return this.exchange.exchange(this.request);
			}
			return this.interceptors.get(this.next)
				.aroundExchange(new Call(this.client, this.exchange, this.request, this.interceptors, this.next + 1));
		}

	}

}
