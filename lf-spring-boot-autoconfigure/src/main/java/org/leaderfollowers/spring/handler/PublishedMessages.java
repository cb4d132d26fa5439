package org.leaderfollowers.spring.handler;

import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

import org.springframework.core.ReactiveAdapter;
import org.springframework.core.ReactiveAdapterRegistry;

/**
 * The messages of a publisher, such as a {@code Mono}, a {@code Flux} or what a
 * suspending function of Kotlin returns. They are requested one by one, as the peer
 * reads. The subscription is cancelled when the connection closes.
 */
final class PublishedMessages implements ReplySequence.Source, Subscriber<Object> {

	private final Publisher<?> publisher;

	/** The message that was requested, until it is taken. */
	private final AtomicReference<@Nullable Object> next = new AtomicReference<>();

	private volatile @Nullable Subscription subscription;

	private volatile boolean closed;

	/** Written before {@link #completed}. */
	private @Nullable Throwable failure;

	private volatile boolean completed;

	/** Written before the publisher knows this subscriber. */
	private @Nullable ReplySequence sequence;

	/** Of the thread that polls: whether {@link #next} is still to come. */
	private boolean requested;

	private PublishedMessages(Publisher<?> publisher) {
		this.publisher = publisher;
	}

	/**
	 * Finds the messages of a value that {@linkplain ReplyTypes#isReactive is reactive}.
	 */
	static PublishedMessages of(Object value) {
		ReactiveAdapter adapter = ReactiveAdapterRegistry.getSharedInstance().getAdapter(value.getClass());
		if (adapter == null) {
			throw new IllegalArgumentException("Not reactive: " + value.getClass().getName());
		}
		return new PublishedMessages(adapter.toPublisher(value));
	}

	@Override
	public @Nullable Object poll(ReplySequence sequence) throws Throwable {
		if (this.sequence == null) {
			this.sequence = sequence;
			this.publisher.subscribe(this);
		}
		// Read before the message: the last message comes before the completion.
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
			// Rule 2.5 of Reactive Streams.
			subscription.cancel();
			return;
		}
		this.subscription = subscription;
		// Either this thread sees that it is closed, or the one that closes cancels.
		if (this.closed) {
			subscription.cancel();
		}
		proceed();
	}

	@Override
	public void onNext(Object message) {
		this.next.set(message);
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
		if (this.sequence != null) {
			this.sequence.proceed();
		}
	}

}
