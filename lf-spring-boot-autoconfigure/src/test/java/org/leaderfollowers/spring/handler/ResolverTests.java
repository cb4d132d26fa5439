package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.annotation.OnOpen;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.MethodParameter;
import org.springframework.core.annotation.Order;
import org.springframework.messaging.Message;
import org.springframework.messaging.handler.invocation.HandlerMethodArgumentResolver;
import org.springframework.messaging.handler.invocation.HandlerMethodReturnValueHandler;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Argument resolvers, return value handlers and reactive types.
 */
class ResolverTests {

	@Test
	void argumentResolverSuppliesWhatNothingElseDoes() {
		HandlerRunner.talk(HandlerRunner.of(Tenants.class, Resolvers.class), (client, context) -> {
			assertThat(client.read()).isEqualTo("welcome to default, 0 bytes");
			assertThat(client.ask("tenant:hello")).isEqualTo("hello of default, 5 bytes");
		});
	}

	@Test
	void returnValueHandlerTakesWhatItSupports() {
		HandlerRunner.talk(HandlerRunner.of(Points.class, Resolvers.class), (client, context) -> {
			assertThat(client.ask("point")).isEqualTo("1/2 for point");
			assertThat(client.ask("text")).isEqualTo("text");
		});
	}

	@Test
	void publishersKeepTheOrderOfTheConnection() {
		HandlerRunner.talk(HandlerRunner.of(Publishing.class), (client, context) -> {
			Publishing handler = context.getBean(Publishing.class);
			client.send("later");
			client.send("now");
			client.send("many");
			client.send("empty");
			client.send("nothing");
			client.send("text");
			Awaitility.await().until(() -> handler.subscribed.get() == 1);
			handler.later.complete("later");
			assertThat(client.read()).isEqualTo("later");
			assertThat(client.read()).isEqualTo("now");
			for (int i = 0; i < 1000; i++) {
				assertThat(client.read()).isEqualTo(Integer.toString(i));
			}
			assertThat(client.read()).isEqualTo("text");
			assertThat(client.ask("fail")).isEqualTo("first");
			assertThat(client.read()).isEqualTo("failed: second of fail");
			assertThat(client.ask("text")).isEqualTo("text");
		});
	}

	@Test
	void publisherDoesItsWorkAlthoughNobodyReads() {
		HandlerRunner.talk(HandlerRunner.of(Saving.class), (client, context) -> {
			assertThat(client.ask("quit")).isEqualTo("<closed>");
			Awaitility.await().untilAsserted(() -> assertThat(context.getBean(Saving.class).saved).hasValue(1));
		});
	}

	@LfHandler
	static class Saving {

		private final AtomicInteger saved = new AtomicInteger();

		@OnMessage
		Mono<Void> quit(Connection connection) {
			connection.close();
			return Mono.fromRunnable(this.saved::incrementAndGet);
		}

	}

	@Test
	void subscriptionIsCancelledWhenTheConnectionCloses() {
		HandlerRunner.talk(HandlerRunner.of(Publishing.class), (client, context) -> {
			assertThat(client.ask("ticks")).isEqualTo("0");
			client.close();
			assertThat(context.getBean(Publishing.class).cancelled.get(60, TimeUnit.SECONDS)).isTrue();
		});
	}

	@Test
	void noMoreIsRequestedThanThePeerReads() {
		HandlerRunner.talk(HandlerRunner.of(Publishing.class), (client, context) -> {
			client.send("endless");
			Publishing handler = context.getBean(Publishing.class);
			// A peer that does not read gets what fits into the buffers, and no more.
			AtomicInteger before = new AtomicInteger();
			Awaitility.await().pollInterval(Duration.ofMillis(500)).until(() -> {
				int made = handler.made.get();
				return made > 0 && made == before.getAndSet(made);
			});
			client.close();
		});
	}

	@Configuration(proxyBeanMethods = false)
	static class Resolvers {

		@Bean
		HandlerMethodArgumentResolver tenantResolver() {
			return new HandlerMethodArgumentResolver() {

				@Override
				public boolean supportsParameter(MethodParameter parameter) {
					return parameter.getParameterType() == Tenant.class;
				}

				@Override
				public Object resolveArgument(MethodParameter parameter, Message<?> message) {
					return new Tenant(String.valueOf(message.getHeaders().get(LfHeaders.SERVER)),
							((byte[]) message.getPayload()).length);
				}

			};
		}

		@Bean
		@Order(1)
		HandlerMethodReturnValueHandler pointHandler() {
			return new HandlerMethodReturnValueHandler() {

				@Override
				public boolean supportsReturnType(MethodParameter returnType) {
					return returnType.getParameterType() == Point.class;
				}

				@Override
				public void handleReturnValue(@Nullable Object value, MethodParameter returnType, Message<?> message) {
					Connection connection = message.getHeaders().get(LfHeaders.CONNECTION, Connection.class);
					Point point = (Point) value;
					if (connection != null && point != null) {
						String received = new String((byte[]) message.getPayload(), StandardCharsets.UTF_8);
						connection.send(ByteBuffer.wrap("%d/%d for %s".formatted(point.x(), point.y(), received)
							.getBytes(StandardCharsets.UTF_8)));
					}
				}

			};
		}

	}

	record Tenant(String name, int bytes) {

		@Override
		public String toString() {
			return "%s, %d bytes".formatted(this.name, this.bytes);
		}

	}

	record Point(int x, int y) {
	}

	@LfHandler
	static class Tenants {

		@OnOpen
		String welcome(Tenant tenant) {
			return "welcome to " + tenant;
		}

		@OnMessage(prefix = "tenant:")
		String message(String text, Tenant tenant) {
			return text + " of " + tenant;
		}

		@OnMessage(isDefault = true)
		void other() {
		}

	}

	@LfHandler
	static class Points {

		@OnMessage(prefix = "point", stripPrefix = false)
		Point point(ByteBuffer message) {
			message.position(message.limit());
			return new Point(1, 2);
		}

		@OnMessage(isDefault = true)
		String text(String text) {
			return text;
		}

	}

	@LfHandler
	static class Publishing {

		private final AtomicInteger subscribed = new AtomicInteger();

		private final CompletableFuture<String> later = new CompletableFuture<>();

		private final CompletableFuture<Boolean> cancelled = new CompletableFuture<>();

		private final AtomicInteger made = new AtomicInteger();

		@OnMessage
		Flux<String> publish(String request) {
			return switch (request) {
				case "later" -> Mono.fromFuture(this.later)
					.doOnSubscribe((subscription) -> this.subscribed.incrementAndGet())
					.flux();
				case "many" -> Flux.range(0, 1000).map(String::valueOf).publishOn(Schedulers.boundedElastic());
				case "empty" -> Flux.empty();
				case "nothing" -> Mono.<String>empty().flux();
				case "fail" -> Flux.concat(Mono.just("first"), Mono.error(new IllegalStateException("second")));
				case "ticks" -> Flux.interval(Duration.ZERO, Duration.ofMillis(1))
					.onBackpressureDrop()
					.map(String::valueOf)
					.doOnCancel(() -> this.cancelled.complete(true));
				case "endless" -> Flux.generate((sink) -> {
					this.made.incrementAndGet();
					sink.next("x".repeat(1000));
				});
				default -> Flux.just(request);
			};
		}

		@OnError
		String failed(IllegalStateException ex, String request) {
			return "failed: %s of %s".formatted(ex.getMessage(), request);
		}

	}

}
