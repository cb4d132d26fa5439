package org.leaderfollowers.spring.handler;

import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;

import org.aopalliance.intercept.MethodInterceptor;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.annotation.OnOpen;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.messaging.handler.annotation.Header;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The beans that can have annotated methods.
 */
class HandlerBeanTests {

	@Test
	void proxyThatIsASubclass() {
		AtomicInteger calls = new AtomicInteger();
		HandlerRunner.talk(HandlerRunner.of(HelloGreeter.class).withBean(Proxies.class, () -> new Proxies(true, calls)),
				(client, context) -> {
					assertThat(client.ask("you")).isEqualTo("hello you");
					assertThat(calls).hasValue(1);
				});
	}

	@Test
	void proxyOfInterfaces() {
		AtomicInteger calls = new AtomicInteger();
		HandlerRunner.talk(HandlerRunner.of(ByInterface.class).withBean(Proxies.class, () -> new Proxies(false, calls)),
				(client, context) -> {
					assertThat(client.ask("you")).isEqualTo("interface you default");
					assertThat(calls).hasValue(1);
				});
	}

	@Test
	void annotationsOfAnInterface() {
		HandlerRunner.talk(HandlerRunner.of(ByInterface.class),
				(client, context) -> assertThat(client.ask("you")).isEqualTo("interface you default"));
	}

	@Test
	void genericSuperclassWithBridgeMethods() {
		HandlerRunner.talk(HandlerRunner.of(Numbers.class), (client, context) -> {
			assertThat(client.ask("41")).isEqualTo("42");
			assertThat(client.ask("x")).isEqualTo("not a number");
		});
	}

	@Test
	void lazyAndScopedBeans() {
		HandlerRunner.talk(HandlerRunner.of(LazyGreeter.class),
				(client, context) -> assertThat(client.ask("you")).isEqualTo("lazy you"));
		HandlerRunner.talk(HandlerRunner.of(ScopedGreeter.class), (client, context) -> {
			assertThat(client.ask("x")).isEqualTo("1");
			assertThat(client.ask("x")).as("another instance").isEqualTo("1");
		});
	}

	@Test
	void beanMethodThatReturnsAnObject() {
		HandlerRunner.talk(HandlerRunner.of(BeanMethod.class),
				(client, context) -> assertThat(client.ask("you")).isEqualTo("bean method you"));
	}

	@Test
	void messageHandlerWithSomeAnnotatedMethods() {
		HandlerRunner.talk(HandlerRunner.of(Mixed.class), (client, context) -> {
			assertThat(client.read()).isEqualTo("welcome");
			assertThat(client.ask("hello")).isEqualTo("hello");
			assertThat(client.ask("")).isEqualTo("handled");
		});
	}

	@Test
	void methodsAreFoundWithoutAnInstance() {
		assertThat(HandlerMethods.of(Mixed.class).methods()).extracting(Method::getName)
			.containsExactly("welcome", "failed");
		assertThat(HandlerMethods.of(ByInterface.class).methods()).extracting(Method::getName).containsExactly("greet");
		assertThat(HandlerMethods.of(String.class).isEmpty()).isTrue();
	}

	/**
	 * Puts proxies around handlers, as those for transactions are.
	 *
	 * @param proxyTargetClass whether they are subclasses
	 * @param calls counts the calls
	 */
	record Proxies(boolean proxyTargetClass, AtomicInteger calls) implements BeanPostProcessor {

		@Override
		public Object postProcessAfterInitialization(Object bean, String beanName) {
			if (!bean.getClass().isAnnotationPresent(LfHandler.class)) {
				return bean;
			}
			ProxyFactory factory = new ProxyFactory(bean);
			factory.setProxyTargetClass(this.proxyTargetClass);
			factory.addAdvice((MethodInterceptor) (invocation) -> {
				this.calls.incrementAndGet();
				return invocation.proceed();
			});
			return factory.getProxy();
		}

	}

	static class Greeter {

		private final String greeting;

		Greeter(String greeting) {
			this.greeting = greeting;
		}

		@OnMessage
		String greet(String name) {
			return this.greeting + " " + name;
		}

	}

	@LfHandler
	static class HelloGreeter extends Greeter {

		HelloGreeter() {
			super("hello");
		}

	}

	interface Greets {

		@OnMessage
		String greet(@Header(LfHeaders.SERVER) String server, String name);

	}

	@LfHandler
	static class ByInterface implements Greets {

		@Override
		public String greet(String server, String name) {
			return "interface " + name + " " + server;
		}

	}

	abstract static class Handling<T, R, E extends Exception> {

		@OnMessage
		abstract R handle(T message);

		@OnError
		abstract R failed(E failure);

	}

	@LfHandler
	static class Numbers extends Handling<Integer, Object, PayloadConversionException> {

		@Override
		Object handle(Integer message) {
			return message + 1;
		}

		@Override
		Object failed(PayloadConversionException failure) {
			return "not a number";
		}

	}

	@LfHandler
	@Lazy
	static class LazyGreeter extends Greeter {

		LazyGreeter() {
			super("lazy");
		}

	}

	@LfHandler
	@Scope(scopeName = "prototype", proxyMode = ScopedProxyMode.TARGET_CLASS)
	static class ScopedGreeter {

		private int count;

		@OnMessage
		int count() {
			return ++this.count;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class BeanMethod {

		@Bean
		@LfHandler
		Object greeter() {
			return new Unmarked();
		}

	}

	static class Unmarked {

		@OnMessage
		String greet(String name) {
			return "bean method " + name;
		}

	}

	@LfHandler
	static class Mixed implements MessageHandler {

		@OnOpen
		String welcome() {
			return "welcome";
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			if (!message.hasRemaining()) {
				throw new IllegalArgumentException("empty");
			}
			connection.send(message);
		}

		@OnError
		String failed(IllegalArgumentException ex) {
			return "handled";
		}

	}

}
