package org.leaderfollowers.internal.exchange;

import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/** Tests that no request is left behind if the writer throws. */
class RequestQueueTests {

	private final List<String> written = new ArrayList<>();

	private final RequestQueue<String> queue = new RequestQueue<>((requests) -> {
		if ("stubborn".equals(requests.peek())) {
			throw new IllegalStateException("made for the test");
		}
		String request = requests.remove();
		if (request.equals("error")) {
			throw new OutOfMemoryError("made for the test");
		}
		if (request.equals("exception")) {
			throw new IllegalStateException("made for the test");
		}
		if (request.equals("adds")) {
			addMeanwhile("added");
		}
		this.written.add(request);
	});

	/** As if another thread did so: this one holds the queue. */
	private void addMeanwhile(String request) {
		this.queue.add(request);
		assertThat(this.written).doesNotContain(request);
	}

	@Test
	void theRequestsOfOtherThreadsAreWrittenAlthoughOneFails() {
		assertThat(this.queue.hold()).isTrue();
		List.of("first", "error", "second", "exception", "adds").forEach(this.queue::add);
		assertThatIllegalStateException().isThrownBy(this.queue::letGo);
		assertThat(this.written).containsExactly("first", "second", "adds", "added");
		assertThat(this.queue.hold()).as("it is not held any more").isTrue();
	}

	@Test
	void aRequestThatIsNotTakenIsNotTriedForEver() {
		assertThatIllegalStateException().isThrownBy(() -> this.queue.add("stubborn"));
		this.queue.add("next");
		assertThat(this.written).containsExactly("next");
	}

	@Test
	void theThreadWhoseRequestFailsIsTold() {
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> this.queue.add("error"));
		this.queue.add("next");
		assertThat(this.written).containsExactly("next");
	}

}
