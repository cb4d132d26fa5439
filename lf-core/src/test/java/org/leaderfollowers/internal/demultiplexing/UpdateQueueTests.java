package org.leaderfollowers.internal.demultiplexing;

import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.internal.demultiplexing.HandleState.Claim;
import org.leaderfollowers.internal.demultiplexing.HandleStateStress.TestHandle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/** Tests for {@link UpdateQueue} with a single thread. */
class UpdateQueueTests {

	private final UpdateQueue queue = new UpdateQueue(() -> {
	});

	@Test
	void aFailureCostsNoOtherHandleItsRequests() {
		assertThatIllegalStateException().isThrownBy(() -> attend(() -> {
			throw new IllegalStateException();
		}));
	}

	@Test
	void anErrorCostsNoOtherHandleItsRequests() {
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> attend(() -> {
			throw new OutOfMemoryError("made for the test");
		}));
	}

	private void attend(Runnable failure) {
		TestHandle first = new TestHandle();
		TestHandle second = new TestHandle();
		this.queue.request(first, 1);
		this.queue.request(second, 1);
		List<TestHandle> attended = new ArrayList<>();
		try {
			this.queue.applyUpdates(TestHandle.class, (handle, requests) -> {
				attended.add(handle);
				failure.run();
			});
		}
		finally {
			assertThat(attended).containsExactlyInAnyOrder(first, second);
			this.queue.request(first, 2);
			assertThat(this.queue.beginWait()).isFalse();
		}
	}

	/** The other one may be closed long before this one requests something again. */
	@Test
	void aHandleThatWasAttendedToRefersToNoOther() {
		TestHandle first = new TestHandle();
		TestHandle second = new TestHandle();
		this.queue.request(first, 1);
		this.queue.request(second, 1);
		assertThat(second.nextRequested).isSameAs(first);
		this.queue.applyUpdates(TestHandle.class, (handle, requests) -> {
		});
		assertThat(second.nextRequested).isNull();
	}

	@Test
	void aHandleThatFiresWhileItIsDrainedIsDeactivated() {
		TestHandle handle = new TestHandle();
		assertThat(handle.claimFired()).isEqualTo(Claim.UNWANTED);
		assertThat(handle.isOwned()).isTrue();
	}

}
