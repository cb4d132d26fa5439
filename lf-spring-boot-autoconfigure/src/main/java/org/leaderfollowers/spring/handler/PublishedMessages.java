package org.leaderfollowers.spring.handler;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

import org.springframework.core.ReactiveAdapter;
import org.springframework.core.ReactiveAdapterRegistry;

/**
 * The messages of a publisher, such as a {@code Mono}, a {@code Flux} or the result of a
 * suspending Kotlin function. They are requested one by one, at the pace at which the
 * peer reads. The subscription is cancelled when the connection closes.
 */
final class PublishedMessages implements ReplySequence.Source, Subscriber<Object> {

	private final Publisher<?> publisher;

	/** The message that was requested, until it is taken. */
	private final AtomicReference<@Nullable Object> next = new AtomicReference<>();

	private volatile @Nullable Subscription subscription;

	private volatile boolean closed;

	/** Written before the volatile {@link #completed}, whose readers therefore see it. */
	private @Nullable Throwable failure;

	private volatile boolean completed;

	/**
	 * Written after the subscription: a publisher that publishes at once would otherwise
	 * publish all messages during it, outside of the turns of the sequence.
	 */
	private volatile @Nullable ReplySequence sequence;

	/**
	 * Whether {@link #next} has been requested and not taken yet. Used only by polls, of
	 * which there is one at a time.
	 */
	private boolean requested;

	private PublishedMessages(Publisher<?> publisher) {
		this.publisher = publisher;
	}

	/**
	 * Finds the messages of a value that {@linkplain ReplyTypes#isReactive is reactive}.
	 */
	static PublishedMessages of(Object value) {
		return new PublishedMessages(adapter(value).toPublisher(value));
	}

	private static ReactiveAdapter adapter(Object value) {
		ReactiveAdapter adapter = ReactiveAdapterRegistry.getSharedInstance().getAdapter(value.getClass());
		if (adapter == null) {
			throw new IllegalArgumentException("Not reactive: " + value.getClass().getName());
		}
		return adapter;
	}

	/** Returns the same value, except that somebody is told if it fails. */
	static Object watched(Object value, Runnable onFailure) {
		ReactiveAdapter adapter = adapter(value);
		Publisher<Object> publisher = adapter.toPublisher(value);
		return adapter
			.fromPublisher((Publisher<Object>) (subscriber) -> publisher.subscribe(new Watched(subscriber, onFailure)));
	}

	private record Watched(Subscriber<? super Object> subscriber, Runnable onFailure) implements Subscriber<Object> {

		@Override
		public void onSubscribe(Subscription subscription) {
			this.subscriber.onSubscribe(subscription);
		}

		@Override
		public void onNext(Object message) {
			this.subscriber.onNext(message);
		}

		@Override
		public void onError(Throwable failure) {
			try {
				this.onFailure.run();
			}
			finally {
				this.subscriber.onError(failure);
			}
		}

		@Override
		public void onComplete() {
			this.subscriber.onComplete();
		}

	}

	/**
	 * The first message is requested even if the peer does not read: what it does has to
	 * be done, as in a method that returns the message itself.
	 */
	@Override
	public void start(ReplySequence sequence) {
		this.requested = true;
		try {
			this.publisher.subscribe(this);
		}
		catch (RuntimeException | Error ex) {
			onError(ex);
		}
		// Either the publisher sees it, or the poll that follows sees the message.
		this.sequence = sequence;
	}

	@Override
	public @Nullable Object poll() throws Throwable {
		// Read first: the publisher sets the last message before it completes.
		boolean last = this.completed;
		Object message = this.next.getAndSet(null);
		if (message != null) {
			this.requested = false;
			return message;
		}
		if (last) {
			if (this.failure != null) {
				throw this.failure;
			}
			return END;
		}
		Subscription current = this.subscription;
		if (!this.requested && current != null) {
			this.requested = true;
			current.request(1);
		}
		return NOT_YET;
	}

	@Override
	public void close() {
		this.closed = true;
		Subscription current = this.subscription;
		if (current != null) {
			current.cancel();
		}
	}

	@Override
	public void onSubscribe(Subscription subscription) {
		if (this.subscription != null) {
			// Rule 2.5 of Reactive Streams: a subscriber cancels a second subscription.
			subscription.cancel();
			return;
		}
		this.subscription = subscription;
		subscription.request(1);
		// Either this thread sees that it is closed, or the one that closes cancels.
		if (this.closed) {
			subscription.cancel();
		}
	}

	@Override
	public void onNext(Object message) {
		if (!this.next.compareAndSet(null, Objects.requireNonNull(message))) {
			onError(new IllegalStateException(
					"The publisher has emitted a message that was not requested: let it respect the demand"));
			return;
		}
		proceed();
	}

	@Override
	public void onError(Throwable failure) {
		this.failure = failure;
		onComplete();
	}

	@Override
	public void onComplete() {
		this.completed = true;
		proceed();
	}

	private void proceed() {
		ReplySequence current = this.sequence;
		if (current != null) {
			current.proceed();
		}
	}

}
