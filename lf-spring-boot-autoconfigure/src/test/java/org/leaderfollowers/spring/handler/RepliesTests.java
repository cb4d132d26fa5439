package org.leaderfollowers.spring.handler;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import java.util.stream.Stream;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.OwedReply;
import org.leaderfollowers.SlowConsumerException;
import org.leaderfollowers.Suspension;
import org.mockito.MockedStatic;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import reactor.core.publisher.Flux;

import org.springframework.boot.convert.ApplicationConversionService;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
import static org.mockito.BDDMockito.willAnswer;
import static org.mockito.BDDMockito.willThrow;
import static org.mockito.Mockito.atLeastOnce;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.mockStatic;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.times;

/**
 * Tests for {@link Replies} of several messages on a connection that does as it is told.
 */
class RepliesTests {

	private final List<String> sent = new ArrayList<>();

	private final List<Throwable> failures = new ArrayList<>();

	private final Connection connection = mock();

	private final Suspension suspension = mock();

	private final OwedReply owed = mock();

	private final Replies replies = new Replies(
			new PayloadWriter(new PayloadConverters(List.of(), null, new ApplicationConversionService()),
					new Text(StandardCharsets.UTF_8)),
			false, (connection, reply, message, failure) -> this.failures.add(failure));

	private int refusals;

	private boolean replying;

	/** How often the connection fails before it does anything. */
	private int errors;

	@BeforeEach
	void open() {
		given(this.connection.isOpen()).willReturn(true);
		given(this.connection.isWritable()).willReturn(true);
		given(this.connection.suspend()).willReturn(this.suspension);
		given(this.connection.owe()).willReturn(this.owed);
		willAnswer((run) -> {
			if (this.errors-- > 0) {
				throw new StackOverflowError("Made for the test");
			}
			this.replying = true;
			run.<Runnable>getArgument(0).run();
			this.replying = false;
			return null;
		}).given(this.owed).run(any());
		willAnswer((send) -> {
			assertThat(this.replying).as("it keeps its place in the order").isTrue();
			if (this.refusals-- > 0) {
				throw new SlowConsumerException("Made for the test");
			}
			this.sent.add(StandardCharsets.UTF_8.decode(send.<ByteBuffer>getArgument(0)).toString());
			return null;
		}).given(this.connection).send(any());
	}

	@Test
	void aRefusedMessageIsSentWhenThePeerHasCaughtUp() {
		this.refusals = 1;
		this.replies.send(this.connection, List.of("one", "two"));
		assertThat(this.sent).as("a second attempt at once would keep a thread busy").isEmpty();
		this.replies.writable(this.connection);
		assertThat(this.sent).containsExactly("one", "two");
	}

	@Test
	void aLongReplyLetsOtherConnectionsHaveTheirTurn() {
		given(this.connection.requestWritable()).willReturn(true);
		this.replies.send(this.connection, slow("one", "two", "three"));
		assertThat(this.sent).containsExactly("one");
		this.replies.writable(this.connection);
		assertThat(this.sent).containsExactly("one", "two");
		then(this.owed).should(never()).close();
		this.replies.writable(this.connection);
		assertThat(this.sent).containsExactly("one", "two", "three");
		then(this.connection).should(times(2)).requestWritable();
		then(this.owed).should().close();
	}

	/** Elements each of which takes longer than a turn. */
	private static Stream<String> slow(String... rows) {
		return Stream.of(rows).peek((row) -> takeLongerThanATurn());
	}

	private static void takeLongerThanATurn() {
		long began = System.nanoTime();
		while (System.nanoTime() - began < 2_000_000) {
			Thread.onSpinWait();
		}
	}

	/** Otherwise a thread that is held up again and again would send nothing. */
	@Test
	void eachTurnSendsAMessageHoweverLongItTakes() {
		given(this.connection.isWritable()).willReturn(true, false, true);
		given(this.connection.requestWritable()).willReturn(true);
		this.replies.send(this.connection, slow("one", "two"));
		assertThat(this.sent).containsExactly("one");
		this.replies.writable(this.connection);
		assertThat(this.sent).containsExactly("one", "two");
		then(this.connection).should(never()).requestWritable();
	}

	@Test
	void aFluxThatPublishesAtOnceLetsOtherConnectionsHaveTheirTurn() {
		given(this.connection.requestWritable()).willReturn(true);
		// Makes a message when it is requested. A stream would be asked for the one after
		// it, too, and the time for that would fall into the turn before.
		Iterator<String> rows = List.of("one", "two", "three").iterator();
		this.replies.send(this.connection, Flux.<String>generate((sink) -> {
			takeLongerThanATurn();
			if (rows.hasNext()) {
				sink.next(rows.next());
			}
			else {
				sink.complete();
			}
		}));
		assertThat(this.sent).containsExactly("one");
		this.replies.writable(this.connection);
		assertThat(this.sent).containsExactly("one", "two");
		this.replies.writable(this.connection);
		assertThat(this.sent).containsExactly("one", "two", "three");
		then(this.owed).should().close();
	}

	@Test
	void aCloseAtTheEndOfATurnIsNotLost() {
		AtomicBoolean closed = new AtomicBoolean();
		AtomicBoolean closedSource = new AtomicBoolean();
		given(this.connection.requestWritable()).willReturn(true);
		given(this.connection.isWritable()).will((call) -> !closed.get());
		given(this.connection.isOpen()).will((call) -> {
			boolean open = !closed.get();
			if (open && this.sent.size() == 1) {
				// Another thread closes the connection just after this check.
				closed.set(true);
				this.replies.closed(this.connection);
			}
			return open;
		});
		this.replies.send(this.connection, slow("one", "two", "three").onClose(() -> closedSource.set(true)));
		assertThat(closed).isTrue();
		assertThat(closedSource).isTrue();
		then(this.owed).should().close();
	}

	/** As a thread may do that finds the connection writable at once. */
	@Test
	void aCallAtTheEndOfATurnIsNotLost() {
		given(this.connection.requestWritable()).will((request) -> {
			this.replies.writable(this.connection);
			return true;
		});
		this.replies.send(this.connection, slow("one", "two", "three"));
		assertThat(this.sent).containsExactly("one", "two", "three");
		then(this.owed).should().close();
	}

	@Test
	void aLongReplyGoesOnIfItsConnectionDoesNotCallAgain() {
		this.replies.send(this.connection, slow("one", "two", "three"));
		assertThat(this.sent).containsExactly("one", "two", "three");
		then(this.connection).should(times(2)).requestWritable();
	}

	@Test
	void aReplyThatHasEndedIsForgotten() {
		this.replies.send(this.connection, List.of("one", "two"));
		then(this.suspension).should().resume();
		then(this.owed).should().close();
		assertThat(this.replies).hasFieldOrPropertyWithValue("sequences", Map.of());
	}

	@Test
	void aReplyThatComesLaterKeepsItsPlace() {
		CompletableFuture<String> later = new CompletableFuture<>();
		this.replies.send(this.connection, later);
		then(this.suspension).should(never()).resume();
		later.complete("one");
		assertThat(this.sent).containsExactly("one");
		then(this.suspension).should().resume();
		then(this.owed).should().close();
	}

	@Test
	void failureOfALaterReplyIsHandledItself() {
		IllegalStateException failure = new IllegalStateException("Made for the test");
		this.replies.send(this.connection, CompletableFuture.failedFuture(failure));
		CompletableFuture<String> later = new CompletableFuture<>();
		this.replies.send(this.connection, later.thenApply(String::trim));
		later.completeExceptionally(failure);
		CompletableFuture<String> refused = new CompletableFuture<>();
		this.replies.send(this.connection, refused);
		this.refusals = 1;
		refused.complete("one");
		assertThat(this.failures).hasSize(3)
			.startsWith(failure, failure)
			.last()
			.isInstanceOf(SlowConsumerException.class);
		then(this.suspension).should(times(3)).resume();
		then(this.owed).should(times(3)).close();
	}

	@Test
	void elementsMayBeOptional() {
		this.replies.send(this.connection, List.of(Optional.of("one"), Optional.empty(), Optional.of(2)));
		assertThat(this.sent).containsExactly("one", "2");
	}

	@Test
	void whateverYieldsMessagesIsClosed() {
		Rows iterable = new Rows(Stream.of("one").iterator());
		this.replies.send(this.connection, iterable);
		this.replies.send(this.connection, new RowIterator(iterable));
		assertThat(iterable.closed).isEqualTo(2);
	}

	@Test
	void repliesEndWithTheirConnectionAlthoughItsHandlerFails() throws Exception {
		MessageHandler failing = mock();
		willThrow(new IllegalStateException("Made for the test")).given(failing).onClose(any(), any());
		ServerMessageHandler handler = new ServerMessageHandler(failing, this.replies, List.of(), List.of(), mock());
		given(this.connection.isWritable()).willReturn(false);
		Rows rows = new Rows(Stream.of("one").iterator());
		this.replies.send(this.connection, rows);
		given(this.connection.isOpen()).willReturn(false);
		assertThatIllegalStateException().isThrownBy(() -> handler.onClose(this.connection, CloseReason.PEER));
		assertThat(rows.closed).isOne();
		assertThat(this.replies).hasFieldOrPropertyWithValue("sequences", Map.of());
	}

	@Test
	void noFailureOfTheCloseIsLost() {
		Rows failing = new Rows(Stream.of("one").iterator());
		failing.failure = new IllegalStateException("close");
		this.replies.send(this.connection, failing);
		assertThat(this.failures).containsExactly(failing.failure);
		IllegalStateException first = new IllegalStateException("row");
		failing.rows = Stream.of("one").map((row) -> {
			if (!row.isEmpty()) {
				throw first;
			}
			return row;
		}).iterator();
		this.replies.send(this.connection, failing);
		assertThat(this.failures).containsExactly(failing.failure, first);
		assertThat(first).hasSuppressedException(failing.failure);
	}

	@Test
	void publishedMessagesAreRequestedOneByOne() {
		Source source = new Source();
		Subscription subscription = mock();
		this.replies.send(this.connection, source);
		source.subscriber.onSubscribe(subscription);
		this.replies.writable(this.connection);
		then(subscription).should().request(1);
		source.subscriber.onNext("one");
		then(subscription).should(times(2)).request(1);
		assertThat(this.sent).containsExactly("one");
		source.subscriber.onComplete();
		then(this.suspension).should().resume();
	}

	/** A publisher may publish the message before the request returns. */
	@Test
	void theMessageAfterTheFirstOneIsRequestedEvenDuringTheFirstRequest() {
		PublishedMessages messages = PublishedMessages.of(new Source());
		Subscription subscription = mock();
		List<Object> polled = new ArrayList<>();
		willAnswer((request) -> {
			if (polled.isEmpty()) {
				messages.onNext("one");
				polled.add(messages.poll());
				polled.add(messages.poll());
			}
			return null;
		}).given(subscription).request(1);
		messages.onSubscribe(subscription);
		assertThat(polled).containsExactly("one", ReplySequence.Source.NOT_YET);
		then(subscription).should(times(2)).request(1);
	}

	/** The last message and the end may come between any two steps of a poll. */
	@Test
	void theLastMessageIsFoundAlthoughThePublisherCompletesMeanwhile() throws Throwable {
		List<PublishedMessages> published = Stream.generate(() -> PublishedMessages.of(new Source()))
			.limit(20_000)
			.toList();
		AtomicInteger polled = new AtomicInteger();
		Thread publisher = new Thread(() -> {
			for (int i = 0; i < published.size(); i++) {
				// The test is to be just ahead, but need not be.
				for (int spins = 0; polled.get() < i && spins < 1000; spins++) {
					Thread.onSpinWait();
				}
				published.get(i).onNext("last");
				published.get(i).onComplete();
			}
		});
		publisher.start();
		for (PublishedMessages messages : published) {
			Object found = messages.poll();
			while (found == ReplySequence.Source.NOT_YET) {
				found = messages.poll();
			}
			assertThat(found).isEqualTo("last");
			polled.incrementAndGet();
		}
		publisher.join();
	}

	@Test
	void aCallWhileMessagesAreSentIsNotLost() {
		Iterator<Object> polled = List.of("one", ReplySequence.Source.NOT_YET, "two", ReplySequence.Source.END)
			.iterator();
		AtomicReference<ReplySequence> sequence = new AtomicReference<>();
		sequence.set(new ReplySequence(this.replies, this.connection, null, new ReplySequence.Source() {

			@Override
			public Object poll() {
				Object next = polled.next();
				if (next == NOT_YET) {
					// As a thread would that publishes a message at this moment.
					sequence.get().proceed();
				}
				return next;
			}

			@Override
			public void close() {
			}

		}));
		sequence.get().proceed();
		assertThat(this.sent).containsExactly("one", "two");
		then(this.suspension).should().resume();
	}

	@Test
	void aConnectionThatIsClosedCancelsItsSubscription() {
		Source source = new Source();
		Source slow = new Source();
		Subscription subscription = mock();
		Subscription late = mock();
		this.replies.send(this.connection, source);
		this.replies.send(this.connection, slow);
		source.subscriber.onSubscribe(subscription);
		given(this.connection.isOpen()).willReturn(false);
		given(this.connection.isWritable()).willReturn(false);
		this.replies.closed(this.connection);
		then(subscription).should().cancel();
		slow.subscriber.onSubscribe(late);
		then(late).should().cancel();
	}

	@Test
	void aMessageThatWasNotRequestedIsAFailure() {
		Source source = new Source();
		Subscription subscription = mock();
		this.replies.send(this.connection, source);
		source.subscriber.onSubscribe(subscription);
		given(this.connection.isWritable()).willReturn(false);
		source.subscriber.onNext("one");
		source.subscriber.onNext("two");
		given(this.connection.isWritable()).willReturn(true);
		this.replies.writable(this.connection);
		assertThat(this.sent).containsExactly("one");
		assertThat(this.failures).singleElement()
			.satisfies((failure) -> assertThat(failure).hasMessageContaining("was not requested"));
		then(subscription).should().cancel();
	}

	@Test
	void failureOfAPublisherIsHandled() {
		IllegalStateException failure = new IllegalStateException("Made for the test");
		this.replies.send(this.connection, Flux.just("one").concatWith(Flux.error(failure)));
		assertThat(this.sent).containsExactly("one");
		assertThat(this.failures).containsExactly(failure);
	}

	/** The contract forbids this, but the reply must not be owed for ever. */
	@Test
	void aPublisherThatThrowsHasFailed() {
		IllegalStateException failure = new IllegalStateException("Made for the test");
		this.replies.send(this.connection, (Publisher<String>) (subscriber) -> {
			throw failure;
		});
		assertThat(this.failures).containsExactly(failure);
		then(this.owed).should().close();
	}

	/** As code in Kotlin can. */
	@Test
	void aPublisherThatThrowsACheckedExceptionHasFailed() {
		IOException failure = new IOException("Made for the test");
		Publisher<String> publisher = mock();
		willAnswer((subscribe) -> {
			throw failure;
		}).given(publisher).subscribe(any());
		this.replies.send(this.connection, publisher);
		assertThat(this.failures).containsExactly(failure);
		then(this.owed).should().close();
	}

	@Test
	void aPublisherThatSubscribesTwiceHasFailed() {
		Source source = new Source();
		Subscription subscription = mock();
		Subscription second = mock();
		this.replies.send(this.connection, source);
		source.subscriber.onSubscribe(subscription);
		source.subscriber.onSubscribe(second);
		assertThat(this.failures).hasSize(1);
		then(second).should().cancel();
		then(this.owed).should().close();
	}

	/** The thread that completes the future gets no exception, so nobody else would. */
	@Test
	void aLaterReplyThatItsThreadCannotSendHasFailed() {
		CompletableFuture<String> later = new CompletableFuture<>();
		this.replies.send(this.connection, later);
		this.errors = 1;
		later.complete("one");
		awaitEndOfReply();
		assertThat(this.failures).singleElement().isInstanceOf(StackOverflowError.class);
		then(this.suspension).should().resume();
	}

	/** Otherwise the connection would handle no further message. */
	@Test
	void aReplyEndsAlthoughItsFailureCannotBeHandled() {
		OutOfMemoryError error = new OutOfMemoryError("Made for the test");
		Replies unable = new Replies(
				new PayloadWriter(new PayloadConverters(List.of(), null, new ApplicationConversionService()),
						new Text(StandardCharsets.UTF_8)),
				false, (connection, reply, message, failure) -> {
					this.failures.add(failure);
					throw error;
				});
		IllegalStateException failure = new IllegalStateException("Made for the test");
		Throwable thrown = catchThrowable(() -> unable.send(this.connection, Stream.of("one").peek((row) -> {
			throw failure;
		})));
		assertThat(thrown).isIn(null, error);
		assertThat(this.failures).containsExactly(failure);
		then(this.suspension).should().resume();
		then(this.owed).should().close();
	}

	@Test
	void noReplyIsOwedIfItCannotBeCountedOrAwaited() {
		CompletableFuture<String> later = new CompletableFuture<>() {

			@Override
			public <U> CompletableFuture<U> handle(BiFunction<? super String, Throwable, ? extends U> fn) {
				throw new LinkageError("Made for the test");
			}

		};
		assertThatExceptionOfType(LinkageError.class).isThrownBy(() -> this.replies.send(this.connection, later));
		then(this.suspension).should().resume();
		then(this.owed).should().close();
		given(this.connection.owe()).willThrow(new LinkageError("Made for the test"));
		assertThatExceptionOfType(LinkageError.class).isThrownBy(() -> this.replies.send(this.connection, later));
		then(this.suspension).should(times(2)).resume();
	}

	/** It may be a cursor of a database. */
	@Test
	void whatYieldsMessagesIsClosedIfItCannotBeOwed() {
		given(this.connection.owe()).willThrow(new LinkageError("Made for the test"));
		Rows rows = new Rows(List.of("one").iterator());
		rows.failure = new IllegalStateException("cannot be closed");
		assertThatExceptionOfType(LinkageError.class).isThrownBy(() -> this.replies.send(this.connection, rows))
			.withMessage("Made for the test")
			.satisfies((failure) -> assertThat(failure).hasSuppressedException(rows.failure));
		assertThat(rows.closed).isOne();
		then(this.suspension).should().resume();
	}

	@Test
	void aSequenceThatNoThreadCanSendHasFailed() {
		Rows rows = new Rows(List.of("one").iterator());
		this.errors = 2;
		this.replies.send(this.connection, rows);
		awaitEndOfReply();
		then(this.suspension).should().resume();
		assertThat(rows.closed).isOne();
		assertThat(this.failures).singleElement().isInstanceOf(StackOverflowError.class);
		assertThat(this.replies).hasFieldOrPropertyWithValue("sequences", Map.of());
	}

	/** For example because memory is too short for its task. */
	@Test
	void aSequenceThatCannotBePassedToAnotherThreadHasFailed() {
		Rows rows = new Rows(List.of("one").iterator());
		ForkJoinPool rejecting = new ForkJoinPool(1);
		rejecting.shutdown();
		this.errors = 1;
		try (MockedStatic<ForkJoinPool> pools = mockStatic(ForkJoinPool.class)) {
			pools.when(ForkJoinPool::commonPool).thenReturn(rejecting);
			this.replies.send(this.connection, rows);
		}
		then(this.owed).should().close();
		then(this.suspension).should().resume();
		assertThat(rows.closed).isOne();
		assertThat(this.failures).singleElement().isInstanceOf(StackOverflowError.class);
		assertThat(this.replies).hasFieldOrPropertyWithValue("sequences", Map.of());
	}

	@Test
	void aMessageWhosePublisherHasUsedUpItsStackIsSentByAnotherThread() {
		Source source = new Source();
		this.replies.send(this.connection, source);
		source.subscriber.onSubscribe(mock());
		this.errors = 1;
		source.subscriber.onNext("one");
		source.subscriber.onComplete();
		awaitEndOfReply();
		assertThat(this.sent).containsExactly("one");
		assertThat(this.failures).isEmpty();
	}

	private void awaitEndOfReply() {
		Awaitility.await().atMost(Duration.ofMinutes(1)).untilAsserted(() -> then(this.owed).should().close());
	}

	/** The owed reply would keep the connection, and the drain of its server. */
	@Test
	void aReplyEndsAlthoughItsSuspensionCannot() {
		willThrow(new LinkageError("Made for the test")).given(this.suspension).resume();
		assertThatExceptionOfType(LinkageError.class).isThrownBy(() -> this.replies.send(this.connection, List.of()));
		then(this.owed).should(atLeastOnce()).close();
	}

	private static final class Source implements Publisher<String> {

		private Subscriber<? super String> subscriber;

		@Override
		public void subscribe(Subscriber<? super String> subscriber) {
			this.subscriber = subscriber;
		}

	}

	private static final class Rows implements Iterable<String>, AutoCloseable {

		private Iterator<String> rows;

		private RuntimeException failure;

		private int closed;

		Rows(Iterator<String> rows) {
			this.rows = rows;
		}

		@Override
		public Iterator<String> iterator() {
			return this.rows;
		}

		@Override
		public void close() {
			this.closed++;
			if (this.failure != null) {
				throw this.failure;
			}
		}

	}

	private record RowIterator(Rows rows) implements Iterator<String>, AutoCloseable {

		@Override
		public boolean hasNext() {
			return this.rows.iterator().hasNext();
		}

		@Override
		public String next() {
			return this.rows.iterator().next();
		}

		@Override
		public void close() {
			this.rows.close();
		}

	}

}
