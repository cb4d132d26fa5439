package org.leaderfollowers.spring.handler;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import jakarta.validation.ConstraintViolation;
import jakarta.validation.ConstraintViolationException;
import jakarta.validation.Valid;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.Size;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ConnectionClosedException;
import org.leaderfollowers.FramingException;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.OwedReply;
import org.leaderfollowers.spring.EchoHandler;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnClose;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.interceptor.HandlerCallInterceptor;
import org.leaderfollowers.spring.interceptor.MessageHandlerInterceptor;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Mono;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.messaging.handler.annotation.Payload;
import org.springframework.validation.BindException;
import org.springframework.validation.annotation.Validated;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
import static org.mockito.BDDMockito.willThrow;
import static org.mockito.Mockito.mock;

/**
 * What becomes of failures.
 */
@ExtendWith(OutputCaptureExtension.class)
class FailureTests {

	@Test
	void nearestMethodHandlesAFailure() {
		HandlerRunner.talk(HandlerRunner.of(Choosy.class), (client, context) -> {
			assertThat(client.ask("not found")).isEqualTo("io: not found");
			assertThat(client.ask("closed")).isEqualTo("any io: closed");
			assertThat(client.ask("wrapped")).isEqualTo("io: wrapped");
			assertThat(client.ask("explicit")).isEqualTo("explicit");
			assertThat(client.ask("error")).isEqualTo("error: error");
			assertThat(client.ask("silent")).isEqualTo("io: not found");
		});
	}

	@Test
	void methodCanCloseTheConnection() {
		HandlerRunner.talk(HandlerRunner.of(Choosy.class), (client, context) -> {
			assertThat(client.ask("leave")).isEqualTo("bye");
			assertThat(client.read()).isNull();
			assertThat(context.getBean(Choosy.class).closed.poll(60, TimeUnit.SECONDS)).isEqualTo(CloseReason.LOCAL);
		});
	}

	@Test
	void whatNobodyHandlesIsLoggedOnceAndCloses(CapturedOutput output) {
		HandlerRunner.talk(HandlerRunner.of(Choosy.class), (client, context) -> {
			assertThat(client.ask("unhandled")).isEqualTo("<closed>");
			assertThat(context.getBean(Choosy.class).closed.poll(60, TimeUnit.SECONDS))
				.isEqualTo(CloseReason.HANDLER_ERROR);
		});
		assertThat(output)
			.containsOnlyOnce("Connection 1 of server 'default' is closed, since 'failureTests.Choosy' failed")
			.containsOnlyOnce("java.lang.IllegalStateException: unhandled");
	}

	@Test
	void failureOfTheMessageIsLoggedWithoutIt(CapturedOutput output) {
		HandlerRunner.talk(HandlerRunner.of(Orders.class),
				(client, context) -> assertThat(client.ask("{\"item\":\"secret\",\"quantity\":\"secret\"}"))
					.isEqualTo("<closed>"));
		HandlerRunner.talk(HandlerRunner.of(Orders.class), (client,
				context) -> assertThat(client.ask("{\"item\":\"secret\",\"quantity\":-77}")).isEqualTo("<closed>"));
		assertThat(output).contains("did not handle PayloadConversionException: A message of")
			.contains("did not handle PayloadValidationException: The payload 'item' is not valid: quantity (Min)")
			.doesNotContain("secret")
			.doesNotContain("-77");
	}

	@Test
	void violationsThatTheApplicationFindsAreLoggedInOneLine(CapturedOutput output) {
		HandlerRunner.talk(HandlerRunner.of(ValidatingItself.class), (client,
				context) -> assertThat(client.ask("{\"item\":\"secret\",\"quantity\":-77}")).isEqualTo("<closed>"));
		HandlerRunner.talk(HandlerRunner.of(ValidatedBean.class),
				(client, context) -> assertThat(client.ask("arguments")).isEqualTo("<closed>"));
		FailureLog log = new FailureLog("orders");
		Connection connection = mock();
		given(connection.toString()).willReturn("Connection 1");
		BindException bind = new BindException(new Item("secret", -77, null), "order");
		bind.rejectValue("quantity", "Least", "-77");
		log.log(connection, bind);
		assertThat(output)
			.contains("'failureTests.ValidatingItself' did not handle ConstraintViolationException: quantity (Min)")
			.contains("'failureTests.ValidatedBean' did not handle ConstraintViolationException: handle.message (Size)")
			.contains("'orders' did not handle BindException: quantity (Least)")
			.doesNotContain("\tat ")
			.doesNotContain("secret")
			.doesNotContain("-77");
	}

	@Test
	void invalidReturnValueIsAFailureOfTheCode(CapturedOutput output) {
		HandlerRunner.talk(HandlerRunner.of(ValidatedBean.class),
				(client, context) -> assertThat(client.ask("return")).isEqualTo("<closed>"));
		assertThat(output).contains("since 'failureTests.ValidatedBean' failed").contains("\tat ");
	}

	@Test
	void methodThatFailsItselfLeavesTheFailureUnhandled(CapturedOutput output) {
		HandlerRunner.talk(HandlerRunner.of(Choosy.class), (client, context) -> {
			assertThat(client.ask("arithmetic")).isEqualTo("<closed>");
			assertThat(context.getBean(Choosy.class).closed.poll(60, TimeUnit.SECONDS))
				.isEqualTo(CloseReason.HANDLER_ERROR);
		});
		assertThat(output).contains("java.lang.ArithmeticException: arithmetic")
			.contains("Suppressed: java.lang.UnsupportedOperationException: in the error method");
	}

	@Test
	void methodThatFailsWithTheFailureOfAMessageIsLogged(CapturedOutput output) {
		HandlerRunner.talk(HandlerRunner.of(FailingTwice.class), (client,
				context) -> assertThat(client.ask("{\"item\":\"secret\",\"quantity\":0}")).isEqualTo("<closed>"));
		HandlerRunner.talk(HandlerRunner.of(FailingTwice.class),
				(client, context) -> assertThat(client.ask("secret")).isEqualTo("<closed>"));
		assertThat(output).contains("did not handle PayloadValidationException: The payload 'item' is not valid")
			.containsOnlyOnce("The handling of PayloadValidationException of Connection 1 of server 'default'"
					+ " by 'failureTests.FailingTwice' failed")
			.containsOnlyOnce("java.lang.UnsupportedOperationException: while a problem was described")
			.containsOnlyOnce("by 'failureTests.FailingTwice' failed with PayloadConversionException: A message of")
			.doesNotContain("secret");
	}

	@Test
	void failureOfTheFramingIsHandledAndCloses() {
		HandlerRunner.talk(HandlerRunner.of(Choosy.class).withPropertyValues("lf.server.max-message-size=10B"),
				(client, context) -> {
					assertThat(client.ask("x".repeat(50))).isEqualTo("framing");
					assertThat(client.read()).isNull();
					assertThat(context.getBean(Choosy.class).closed.poll(60, TimeUnit.SECONDS))
						.isEqualTo(CloseReason.MESSAGE_TOO_LARGE);
				});
	}

	@Test
	void methodGetsTheMessageThatFailed() {
		HandlerRunner.talk(HandlerRunner.of(Correlating.class).withPropertyValues("lf.server.max-message-size=100B"),
				(client, context) -> {
					assertThat(client.ask("text 1")).isEqualTo("text: text 1 (IllegalStateException)");
					assertThat(client.ask("bytes 2")).isEqualTo("bytes: 7");
					assertThat(client.ask("buffer 3")).isEqualTo("buffer: 3 of 8");
					assertThat(client.ask("later 4")).isEqualTo("text: later 4 (IllegalStateException)");
					assertThat(client.ask("several 5")).isEqualTo("first");
					assertThat(client.read()).isEqualTo("text: several 5 (IllegalStateException)");
					assertThat(client.ask("text 6")).isEqualTo("text: text 6 (IllegalStateException)");
					for (String kind : List.of("optional", "stream", "mono")) {
						assertThat(client.ask("kind " + kind))
							.isEqualTo("text: kind %s (IllegalStateException)".formatted(kind));
					}
					assertThat(client.ask("x".repeat(200))).as("there is no message").isEqualTo("framing: none");
					assertThat(client.read()).isNull();
				});
	}

	@Test
	void methodGetsTheMessageConverted() {
		HandlerRunner.talk(HandlerRunner.of(CorrelatingOrders.class), (client, context) -> {
			assertThat(client.ask("{\"item\":\"tea\",\"quantity\":0}")).isEqualTo("{\"failed\":\"tea\"}");
			assertThat(client.ask("{\"item\":\"tea\",\"quantity\":1}")).isEqualTo("{\"failed\":\"out of tea\"}");
			assertThat(client.ask("tea")).as("cannot be converted for the method either").isEqualTo("<closed>");
		});
	}

	@Test
	void methodThatNeedsTheMessageIsNotCalledWithoutIt() {
		HandlerRunner.talk(HandlerRunner.of(Needing.class).withPropertyValues("lf.server.max-message-size=100B"),
				(client, context) -> {
					assertThat(client.ask("hello")).isEqualTo("with hello");
					assertThat(client.ask("x".repeat(200))).isEqualTo("without");
					assertThat(client.read()).isNull();
				});
		HandlerRunner.talk(HandlerRunner.of(NeedingNumber.class).withPropertyValues("lf.server.max-message-size=100B"),
				(client, context) -> {
					assertThat(client.ask("7")).isEqualTo("with 7");
					assertThat(client.ask("x".repeat(200))).isEqualTo("without");
				});
	}

	@Test
	void errorHandlersGetTheMessageThatFailed() {
		HandlerRunner.talk(HandlerRunner.of(First.class, Quoting.class).withBean(AnnotatedEcho.class),
				(client, context) -> {
					assertThat(client.ask("hello")).isEqualTo("hello");
					assertThat(client.ask("fail")).isEqualTo("quoted: fail");
					assertThat(context.getBean(First.class).asked).containsExactly("As asked for");
				});
		HandlerRunner.talk(HandlerRunner.of(FailingBehindPrefix.class, Reading.class, Quoting.class),
				(client, context) -> assertThat(client.ask("FAIL now")).isEqualTo("quoted: FAIL now"));
		HandlerRunner.talk(HandlerRunner.of(Shortening.class, Quoting.class),
				(client, context) -> assertThat(client.ask("fail")).isEqualTo("quoted: fail"));
		HandlerRunner.talk(HandlerRunner.of(FailingFuture.class, Reading.class, Quoting.class),
				(client, context) -> assertThat(client.ask("later")).isEqualTo("quoted: later"));
	}

	@Test
	void messageReachesTheHandlerThroughInterceptorsThatKnowNothingOfIt() {
		List<String> seen = new CopyOnWriteArrayList<>();
		MessageHandlerInterceptor interceptor = new MessageHandlerInterceptor() {

			@Override
			public void onError(Connection connection, Throwable failure, MessageHandler next) throws Exception {
				seen.add(failure.getMessage());
				next.onError(connection, failure);
			}

		};
		HandlerCallInterceptor around = (connection, call) -> call.proceed();
		HandlerRunner.talk(HandlerRunner.of(LastWords.class)
			.withBean("interceptor", MessageHandlerInterceptor.class, () -> interceptor)
			.withBean("around", HandlerCallInterceptor.class, () -> around), (client, context) -> {
				assertThat(client.ask("hello")).isEqualTo("not hello");
				assertThat(client.read()).isNull();
			});
		assertThat(seen).containsExactly("as asked for");
	}

	@Test
	void errorHandlersAreAskedInTheirOrderAfterTheMethods() {
		HandlerRunner.talk(HandlerRunner.of(Choosy.class, Last.class, First.class), (client, context) -> {
			assertThat(client.ask("not found")).isEqualTo("io: not found");
			assertThat(client.ask("unhandled")).isEqualTo("{\"by\":\"last\",\"what\":\"unhandled\"}");
			assertThat(context.getBean(First.class).asked).containsExactly("unhandled");
			assertThat(client.ask("not found")).isEqualTo("io: not found");
		});
	}

	@Test
	void errorHandlersGetTheFailureOfAFutureItself() {
		LfErrorHandler naming = (connection, failure) -> ErrorReply.of(failure.getClass().getSimpleName());
		HandlerRunner.talk(HandlerRunner.of(FailingFuture.class).withBean(LfErrorHandler.class, () -> naming),
				(client, context) -> {
					assertThat(client.ask("done")).isEqualTo("ArithmeticException");
					assertThat(client.ask("later")).isEqualTo("ArithmeticException");
				});
	}

	@Test
	void causesThatFormACycleAreNotFollowedForEver() {
		HandlerRunner.talk(HandlerRunner.of(Circular.class, Last.class),
				(client, context) -> assertThat(client.ask("go")).isEqualTo("{\"by\":\"last\",\"what\":\"circular\"}"));
		RuntimeException circular = new RuntimeException();
		circular.initCause(new RuntimeException(circular));
		assertThat(ErrorMethods.find(IOException.class, circular)).isNull();
	}

	@Test
	void aPeerThatHasLeftIsNoFailureButAnotherConnectionThatIsClosedIsOne(CapturedOutput output) {
		HandlerRunner.talk(HandlerRunner.of(Forwarding.class), (client, context) -> {
			Forwarding handler = context.getBean(Forwarding.class);
			try (LineClient gone = HandlerRunner.connect(context)) {
				assertThat(gone.ask("leave and send")).isEqualTo("<closed>");
			}
			try (LineClient gone = HandlerRunner.connect(context)) {
				assertThat(gone.ask("leave and fail")).isEqualTo("<closed>");
			}
			Awaitility.await().until(() -> handler.closed.size() == 2);
			assertThat(handler.failures).hasSize(1).first().isInstanceOf(IllegalStateException.class);
			assertThat(output).doesNotContain("'failureTests.Forwarding' failed");
			assertThat(client.ask("forward")).isEqualTo("not forwarded");
			assertThat(client.ask("forward the failure")).isEqualTo("<closed>");
			assertThat(handler.failures).as("each is handled once").hasSize(3);
		});
		assertThat(output).containsOnlyOnce("UnsupportedOperationException: forward the failure")
			.contains("Suppressed: org.leaderfollowers.ConnectionClosedException");
	}

	@Test
	void methodMayThrowTheFailureAgain(CapturedOutput output) {
		HandlerRunner.talk(HandlerRunner.of(Rethrowing.class),
				(client, context) -> assertThat(client.ask("go")).isEqualTo("<closed>"));
		assertThat(output).containsOnlyOnce("java.lang.IllegalStateException: go").doesNotContain("Self-suppression");
	}

	@Test
	void eachOfTheFailuresOfAConnectionIsHandledOnce() throws Exception {
		First asked = new First();
		MessageHandler handler = mock();
		List<Throwable> failures = List.of(new IllegalStateException("first"), new IllegalStateException("second"));
		willThrow(failures.toArray(Throwable[]::new)).given(handler).onMessage(any(), any());
		ServerMessageHandler outermost = new ServerMessageHandler(handler, mock(Replies.class), List.of(),
				List.of(asked), new FailureLog("mine"));
		Connection connection = mock();
		for (Throwable failure : failures) {
			assertThatException().isThrownBy(() -> outermost.onMessage(connection, ByteBuffer.allocate(1)))
				.isSameAs(failure);
		}
		for (Throwable failure : failures) {
			outermost.onError(connection, failure);
			then(handler).should().onError(connection, failure);
		}
		assertThat(asked.asked).containsExactly("first", "second");
		assertThat(outermost).as("a long connection may have many failures")
			.hasFieldOrPropertyWithValue("unhandled", Map.of());
	}

	/** Otherwise the client would wait for a reply that never comes. */
	@Test
	void aLaterReplyFailsAlthoughItsFailureCannotBeHandled() {
		ServerMessageHandler outermost = new ServerMessageHandler(mock(), mock(Replies.class), List.of(), List.of(),
				new FailureLog("mine"));
		ConnectionClosedException failure = mock();
		Connection connection = mock();
		OwedReply owed = mock();
		given(connection.isOpen()).willThrow(new LinkageError("made for the test"));
		assertThatExceptionOfType(LinkageError.class)
			.isThrownBy(() -> outermost.failed(connection, owed, null, failure));
		then(owed).should().fail(failure);
	}

	@Test
	void errorHandlersHandleFailuresOfMessageHandlers() {
		HandlerRunner.talk(HandlerRunner.of(First.class, Last.class).withBean(AnnotatedEcho.class),
				(client, context) -> {
					assertThat(client.ask("hello")).isEqualTo("hello");
					assertThat(client.ask("fail")).isEqualTo("{\"by\":\"last\",\"what\":\"As asked for\"}");
					assertThat(client.ask("hello")).isEqualTo("hello");
				});
	}

	@Test
	void errorHandlerIsAskedOnceAboutWhatNobodyHandles(CapturedOutput output) {
		HandlerRunner.talk(HandlerRunner.of(First.class).withBean(AnnotatedEcho.class), (client, context) -> {
			assertThat(client.ask("fail")).isEqualTo("<closed>");
			assertThat(context.getBean(First.class).asked).containsExactly("As asked for");
		});
		assertThat(output).containsOnlyOnce("java.lang.IllegalStateException: As asked for");
	}

	@Test
	void errorHandlerCanClose() {
		HandlerRunner.talk(HandlerRunner.of(Closing.class).withBean(AnnotatedEcho.class), (client, context) -> {
			assertThat(client.ask("fail")).isEqualTo("good bye");
			assertThat(client.read()).isNull();
		});
	}

	@Test
	void onlyOneThreadWaitsForALogThatBlocks() throws Exception {
		CountDownLatch blocks = new CountDownLatch(1);
		CountDownLatch gate = new CountDownLatch(1);
		List<String> lines = new CopyOnWriteArrayList<>();
		AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
			@Override
			protected void append(ILoggingEvent event) {
				lines.add(event.getFormattedMessage());
				blocks.countDown();
				try {
					gate.await(60, TimeUnit.SECONDS);
				}
				catch (InterruptedException ex) {
					Thread.currentThread().interrupt();
				}
			}
		};
		appender.start();
		Logger logger = (Logger) LoggerFactory.getLogger(FailureLog.class);
		logger.addAppender(appender);
		try {
			Connection connection = mock();
			Thread waiting = new Thread(
					() -> new FailureLog("first").log(connection, new FramingException("made for the test")));
			waiting.start();
			assertThat(blocks.await(60, TimeUnit.SECONDS)).isTrue();
			CompletableFuture.runAsync(() -> {
				for (int i = 0; i < 1002; i++) {
					new FailureLog("handler " + i).log(connection, new FramingException("made for the test"));
				}
			}, (task) -> new Thread(task).start()).get(60, TimeUnit.SECONDS);
			assertThat(lines).hasSize(1);
			gate.countDown();
			waiting.join(60_000);
		}
		finally {
			gate.countDown();
			logger.detachAppender(appender);
		}
		assertThat(lines).hasSize(1002);
		assertThat(lines.get(0)).contains("'first'");
		assertThat(lines.get(1)).contains("'handler 0'");
		assertThat(lines.get(1000)).contains("'handler 999'");
		assertThat(lines.get(1001)).startsWith("2 lines about failures were dropped");
	}

	@Test
	void lineThatCannotBeWrittenIsLostAlone() {
		List<String> lines = new CopyOnWriteArrayList<>();
		AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
			@Override
			protected void append(ILoggingEvent event) {
				lines.add(event.getFormattedMessage());
				if (lines.size() == 1) {
					throw new LinkageError("from the test");
				}
			}
		};
		appender.start();
		Logger logger = (Logger) LoggerFactory.getLogger(FailureLog.class);
		logger.addAppender(appender);
		try {
			Connection connection = mock();
			for (String handler : new String[] { "first", "second" }) {
				new FailureLog(handler).log(connection, new FramingException("made for the test"));
			}
		}
		finally {
			logger.detachAppender(appender);
		}
		assertThat(lines).hasSize(2).last().asString().contains("'second'");
	}

	@Test
	void brokenConnectionIsLoggedForDevelopersOnly(CapturedOutput output) {
		FailureLog log = new FailureLog("orders");
		Connection connection = mock();
		given(connection.toString()).willReturn("Connection 1");
		given(connection.closeReason()).willReturn(CloseReason.IO_ERROR);
		log.log(connection, new IOException("reset\nFORGED"));
		assertThat(output).doesNotContain("Connection 1");
		log.logHandling(connection, new IOException("reset"), new IllegalStateException("in the error method"));
		assertThat(output).containsOnlyOnce("The handling of IOException of Connection 1 by 'orders' failed");
		Logger logger = (Logger) LoggerFactory.getLogger(FailureLog.class);
		logger.setLevel(Level.DEBUG);
		try {
			log.log(connection, new IOException("reset\nFORGED"));
		}
		finally {
			logger.setLevel(null);
		}
		assertThat(output).contains("DEBUG").contains("Connection 1 failed").contains("IOException: reset?FORGED");
	}

	@Test
	void anIOExceptionOfAMethodIsAFailureOfTheCode(CapturedOutput output) {
		HandlerRunner.talk(HandlerRunner.of(Copying.class),
				(client, context) -> assertThat(client.ask("copy")).isEqualTo("<closed>"));
		assertThat(output).containsOnlyOnce("since 'failureTests.Copying' failed")
			.containsOnlyOnce("java.io.IOException: no space left");
	}

	@Test
	void anIOExceptionThatDoesNotCloseTheConnectionIsAFailureOfTheCode(CapturedOutput output) {
		Connection connection = mock();
		given(connection.isOpen()).willReturn(true);
		new FailureLog("orders").log(connection, new IOException("no space left"));
		assertThat(output).contains("is not answered, since 'orders' failed").contains("no space left");
	}

	@Test
	void failureThatQuotesAClientForgesNoLine(CapturedOutput output) {
		FailureLog log = new FailureLog("orders");
		Connection connection = mock();
		log.log(connection, new IllegalStateException("first\nFORGED"));
		log.logHandling(connection, new FramingException("malformed"), new IllegalStateException("second\nFORGED"));
		assertThat(output).contains("first?FORGED", "second?FORGED").doesNotContain("\nFORGED");
	}

	@Test
	void payloadsAreValidated() {
		HandlerRunner.talk(HandlerRunner.of(Validating.class), (client, context) -> {
			assertThat(client.ask("{\"item\":\"tea\",\"quantity\":1}")).isEqualTo("tea");
			assertThat(client.ask("{\"item\":\" \",\"quantity\":0}"))
				.isEqualTo("The payload 'item' is not valid: item (NotBlank), quantity (Min) 2 errors");
		});
		HandlerRunner.talk(HandlerRunner.of(ValidatingGroup.class), (client, context) -> {
			assertThat(client.ask("{\"item\":\" \",\"quantity\":0}")).isEqualTo("accepted");
			assertThat(client.ask("{\"item\":\" \",\"quantity\":1000}")).isEqualTo("too many");
		});
	}

	@Test
	void missingHeaderIsAFailure() {
		HandlerRunner.talk(HandlerRunner.of(NeedsUser.class), (client, context) -> {
			assertThat(client.ask("x")).isEqualTo("Connection attribute 'user' is missing, "
					+ "which the parameter 'String user' of NeedsUser.handle(String, Connection) needs");
			assertThat(client.ask("y")).isEqualTo("somebody");
		});
	}

	@Test
	void eachKindOfFailureIsLoggedAtOnceAndThenRarely(CapturedOutput output) {
		AtomicLong clock = new AtomicLong();
		FailureLog log = new FailureLog("orders", clock::get);
		Connection connection = mock();
		given(connection.toString()).willReturn("Connection 1");
		for (int i = 0; i < 5; i++) {
			log.log(connection, new UnmatchedMessageException("first", null));
			log.log(connection, new FramingException("second\n\u009bline"));
		}
		assertThat(output.toString().lines().filter((line) -> line.contains("UnmatchedMessageException: first")))
			.hasSize(1);
		assertThat(output).containsOnlyOnce("FramingException: second??line").doesNotContain("\tat ");
		clock.addAndGet(TimeUnit.SECONDS.toNanos(10));
		// At the same place in the code, so of the same kind.
		for (int i = 0; i < 2; i++) {
			log.log(connection, new UnmatchedMessageException("third", null));
		}
		assertThat(output).containsOnlyOnce("third");
	}

	@Test
	void aKindOfFailureIsLoggedAgainWithTheNumberOfThoseBetween(CapturedOutput output) {
		AtomicLong clock = new AtomicLong();
		FailureLog log = new FailureLog("orders", clock::get);
		Connection connection = mock();
		for (long second : new long[] { 0, 5, 9, 10, 20 }) {
			clock.set(TimeUnit.SECONDS.toNanos(second));
			log.log(connection, new UnmatchedMessageException("after %d s".formatted(second), null));
		}
		assertThat(output)
			.contains("after 0 s", "after 10 s (2 more of this kind since the last such line)", "after 20 s")
			.doesNotContain("after 5 s", "after 9 s", "after 20 s (");
	}

	@Test
	void kindsOfFailuresAreBounded(CapturedOutput output) {
		FailureLog log = new FailureLog("orders", () -> 0);
		Connection connection = mock();
		for (int i = 0; i < 1000; i++) {
			FramingException failure = new FramingException("malformed");
			failure.setStackTrace(
					new StackTraceElement[] { new StackTraceElement("Framing", "decode", "Framing.java", i) });
			log.log(connection, failure);
		}
		assertThat(output.toString().lines().filter((line) -> line.contains("malformed"))).hasSize(101);
	}

	@LfHandler
	static class Copying {

		@OnMessage
		String copy(String file) throws IOException {
			throw new IOException("no space left");
		}

	}

	@LfHandler
	static class Choosy {

		private final BlockingQueue<CloseReason> closed = new LinkedBlockingQueue<>();

		@OnMessage
		String fail(String how, Connection connection) throws Exception {
			switch (how) {
				case "not found" -> throw new FileNotFoundException(how);
				case "closed" -> throw new IOException(how);
				case "wrapped" -> throw new IllegalStateException(new RuntimeException(new FileNotFoundException(how)));
				case "explicit" -> throw new NumberFormatException(how);
				case "error" -> throw new AssertionError(how);
				case "leave" -> throw new SecurityException(how);
				case "arithmetic" -> throw new ArithmeticException(how);
				case "silent" -> {
					return fail("not found", connection);
				}
				default -> throw new IllegalStateException(how);
			}
		}

		@OnError
		String notFound(FileNotFoundException ex) {
			return "io: " + ex.getMessage();
		}

		@OnError
		String io(Connection connection, IOException ex) {
			return "any io: " + ex.getMessage();
		}

		@OnError({ NumberFormatException.class, ClassCastException.class })
		String explicit() {
			return "explicit";
		}

		@OnError
		String error(AssertionError ex) {
			return "error: " + ex.getMessage();
		}

		@OnError
		String framing(FramingException ex) {
			return "framing";
		}

		@OnError
		String arithmetic(ArithmeticException ex) {
			throw new UnsupportedOperationException("in the error method");
		}

		@OnError(value = SecurityException.class, close = true)
		String leave() {
			return "bye";
		}

		@OnClose
		void closed(CloseReason reason) {
			this.closed.add(reason);
		}

	}

	@LfHandler
	static class ValidatingItself {

		private final jakarta.validation.Validator validator;

		ValidatingItself(jakarta.validation.Validator validator) {
			this.validator = validator;
		}

		@OnMessage
		String place(Item order) {
			Set<ConstraintViolation<Item>> violations = this.validator.validate(order);
			if (!violations.isEmpty()) {
				throw new ConstraintViolationException(violations);
			}
			return order.item();
		}

	}

	@LfHandler
	@Validated
	static class ValidatedBean {

		@OnMessage
		@NotBlank
		public String handle(@Size(max = 6) String message) {
			return message.equals("return") ? "" : message;
		}

	}

	@LfHandler
	static class FailingTwice {

		@OnMessage
		String place(@Valid Item order) {
			return order.item();
		}

		@OnError
		String invalid(PayloadValidationException ex) {
			throw new UnsupportedOperationException("while a problem was described");
		}

		@OnError
		String malformed(PayloadConversionException ex, Item order) {
			return order.item();
		}

	}

	record Problem(String by, String what) {
	}

	@Order(Ordered.HIGHEST_PRECEDENCE)
	static class First implements LfErrorHandler {

		private final BlockingQueue<String> asked = new LinkedBlockingQueue<>();

		@Override
		public @Nullable ErrorReply handle(Connection connection, Throwable failure) {
			this.asked.add(String.valueOf(failure.getMessage()));
			return null;
		}

	}

	@Order(Ordered.LOWEST_PRECEDENCE)
	static class Last implements LfErrorHandler {

		@Override
		public ErrorReply handle(Connection connection, Throwable failure) {
			return ErrorReply.of(new Problem("last", String.valueOf(failure.getMessage())));
		}

	}

	static class Closing implements LfErrorHandler {

		@Override
		public ErrorReply handle(Connection connection, Throwable failure) {
			return ErrorReply.of("good bye").thenClose();
		}

	}

	@LfHandler
	static class AnnotatedEcho extends EchoHandler {

	}

	interface Large {

	}

	record Item(@NotBlank String item, @Min(1) int quantity,
			@jakarta.validation.constraints.Null(groups = Large.class) @Nullable String none) {
	}

	record LargeOrder(@NotBlank String item,
			@jakarta.validation.constraints.Max(value = 100, groups = Large.class) int quantity) {
	}

	@LfHandler
	static class Orders {

		@OnMessage
		String place(@Valid Item order) {
			return order.item();
		}

	}

	@LfHandler
	static class Validating {

		@OnMessage
		String place(@Valid Item order) {
			return order.item();
		}

		@OnError
		String invalid(PayloadValidationException ex) {
			return ex.getMessage() + " " + ex.getErrors().getErrorCount() + " errors";
		}

	}

	@LfHandler
	static class ValidatingGroup {

		@OnMessage
		String place(@Validated(Large.class) LargeOrder order) {
			return "accepted";
		}

		@OnError
		String invalid(PayloadValidationException ex) {
			return "too many";
		}

	}

	@LfHandler
	static class NeedsUser {

		@OnMessage
		String handle(@org.springframework.messaging.handler.annotation.Header String user, Connection connection) {
			return user;
		}

		@OnError
		String missing(MissingHeaderException ex, Connection connection) {
			connection.attributes().put(ex.getHeader(), "somebody");
			return String.valueOf(ex.getMessage());
		}

	}

	@LfHandler
	static class Correlating {

		@OnMessage(prefix = { "text ", "bytes ", "buffer " })
		String fail(String message) {
			throw switch (message) {
				case "2" -> new ArithmeticException();
				case "3" -> new UnsupportedOperationException();
				default -> new IllegalStateException();
			};
		}

		@OnMessage(prefix = "later ")
		CompletableFuture<String> failLater(ByteBuffer message) {
			message.position(message.limit());
			return CompletableFuture.supplyAsync(() -> {
				throw new IllegalStateException();
			}, CompletableFuture.delayedExecutor(20, TimeUnit.MILLISECONDS));
		}

		@OnMessage(prefix = "kind ")
		Object failInAnyKindOfReply(String kind) {
			CompletableFuture<String> future = CompletableFuture.supplyAsync(() -> {
				throw new IllegalStateException();
			});
			return switch (kind) {
				case "optional" -> Optional.of(future);
				case "mono" -> Mono.fromFuture(future);
				default -> Stream.of(future).map(CompletableFuture::join);
			};
		}

		@OnMessage(prefix = "several ")
		Iterator<String> failInTheMiddle(String message) {
			return Stream.of("first", "second").map((element) -> {
				if (element.equals("second")) {
					throw new IllegalStateException();
				}
				return element;
			}).iterator();
		}

		@OnError
		String text(IllegalStateException ex, String message) {
			return "text: %s (%s)".formatted(message, ex.getClass().getSimpleName());
		}

		@OnError(ArithmeticException.class)
		String bytes(byte[] message) {
			return "bytes: " + message.length;
		}

		@OnError(UnsupportedOperationException.class)
		String buffer(ByteBuffer message) {
			int length = message.remaining();
			return "buffer: %c of %d".formatted(message.get(message.limit() - 1), length);
		}

		@OnError(FramingException.class)
		String framing(Optional<String> message) {
			return "framing: " + message.orElse("none");
		}

	}

	@LfHandler
	static class CorrelatingOrders {

		record Order(String item, @Min(1) int quantity) {
		}

		record Problem(String failed) {
		}

		@OnMessage
		void order(@Valid Order order) {
			throw new IllegalStateException("out of " + order.item());
		}

		@OnError
		Problem invalid(PayloadValidationException ex, Order order) {
			return new Problem(order.item());
		}

		@OnError
		Problem failed(IllegalStateException ex) {
			return new Problem(ex.getMessage());
		}

		@OnError
		Problem malformed(PayloadConversionException ex, Order order) {
			return new Problem("never");
		}

	}

	@LfHandler
	static class Needing {

		@OnMessage
		void fail(String message) {
			throw new IllegalStateException();
		}

		@OnError(Exception.class)
		String without() {
			return "without";
		}

		@OnError({ IllegalStateException.class, FramingException.class })
		String with(String message) {
			return "with " + message;
		}

	}

	@LfHandler
	static class NeedingNumber {

		@OnMessage
		void fail(String message) {
			throw new IllegalStateException();
		}

		@OnError(Exception.class)
		String without() {
			return "without";
		}

		@OnError({ IllegalStateException.class, FramingException.class })
		String with(@Payload(required = false) int number) {
			return "with " + number;
		}

	}

	@Order(2)
	static class Quoting implements LfErrorHandler {

		@Override
		public @Nullable ErrorReply handle(Connection connection, Throwable failure) {
			return null;
		}

		@Override
		public ErrorReply handle(Connection connection, ByteBuffer message, Throwable failure) {
			return ErrorReply.of("quoted: " + new Text(StandardCharsets.UTF_8).decode(message));
		}

	}

	@LfHandler
	static class Shortening {

		@OnMessage
		void fail(ByteBuffer message) {
			message.limit(2);
			throw new IllegalStateException();
		}

	}

	@LfHandler
	static class FailingBehindPrefix {

		@OnMessage(prefix = "FAIL ")
		void fail(String when) {
			throw new IllegalStateException(when);
		}

	}

	@Order(1)
	static class Reading implements LfErrorHandler {

		@Override
		public @Nullable ErrorReply handle(Connection connection, Throwable failure) {
			return null;
		}

		@Override
		public @Nullable ErrorReply handle(Connection connection, ByteBuffer message, Throwable failure) {
			message.position(message.limit());
			return null;
		}

	}

	@LfHandler
	static class Forwarding {

		private final Queue<Connection> closed = new ConcurrentLinkedQueue<>();

		private final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();

		@OnMessage
		void handle(String message, Connection connection) {
			if (message.startsWith("leave")) {
				connection.close();
			}
			switch (message) {
				case "leave and send" -> send(connection);
				case "forward" -> send(this.closed.element());
				case "leave and fail" -> throw new IllegalStateException();
				default -> throw new UnsupportedOperationException(message);
			}
		}

		private static void send(Connection connection) {
			connection.send(ByteBuffer.wrap(new byte[] { 'x' }));
		}

		@OnError(Exception.class)
		String failed(Exception ex) {
			this.failures.add(ex);
			if (ex instanceof UnsupportedOperationException) {
				send(this.closed.element());
			}
			return "not forwarded";
		}

		@OnClose
		void closed(Connection connection) {
			this.closed.add(connection);
		}

	}

	@LfHandler
	static class Rethrowing {

		@OnMessage
		void fail(String message) {
			throw new IllegalStateException(message);
		}

		@OnError
		void again(IllegalStateException ex) {
			throw ex;
		}

	}

	@LfHandler
	static class FailingFuture {

		@OnMessage
		CompletableFuture<Integer> fail(String when) {
			CompletableFuture<Integer> zero = when.equals("done") ? CompletableFuture.completedFuture(0)
					: CompletableFuture.supplyAsync(() -> 0,
							CompletableFuture.delayedExecutor(20, TimeUnit.MILLISECONDS));
			return zero.thenApply((divisor) -> 1 / divisor);
		}

	}

	@LfHandler
	static class Circular {

		@OnMessage
		void fail() {
			RuntimeException first = new RuntimeException("circular");
			first.initCause(new RuntimeException(first));
			throw first;
		}

		@OnError
		void never(IllegalStateException ex) {
		}

	}

	@LfHandler
	static class LastWords implements MessageHandler {

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			message.get();
			throw new IllegalStateException("as asked for");
		}

		@Override
		public void onError(Connection connection, ByteBuffer message, Throwable failure) {
			connection.send(ByteBuffer.wrap(("not " + new Text(StandardCharsets.UTF_8).decode(message)).getBytes()));
		}

	}

}
