package org.leaderfollowers.spring.internal;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

class EvenIfOneFailsTests {

	private final List<Object> seen = new ArrayList<>();

	@Test
	void actsOnAllItemsAndThrowsTheFirstFailure() {
		IllegalStateException first = new IllegalStateException("first");
		StackOverflowError second = new StackOverflowError("second");
		Throwable thrown = catchThrowable(
				() -> EvenIfOneFails.forAll(List.of("a", first, second, first, "b"), this::act));
		assertThat(thrown).isSameAs(first).hasSuppressedException(second);
		assertThat(first.getSuppressed()).hasSize(1);
		assertThat(this.seen).containsExactly("a", first, second, first, "b");
	}

	@Test
	void throwsAnErrorOrACheckedException() {
		for (Throwable failure : List.of(new StackOverflowError(), new IOException())) {
			assertThat(catchThrowable(() -> EvenIfOneFails.forAll(List.of(failure, "b"), this::act))).isSameAs(failure);
		}
		assertThat(this.seen).filteredOn("b"::equals).hasSize(2);
	}

	private void act(Object item) {
		this.seen.add(item);
		if (item instanceof Throwable failure) {
			EvenIfOneFailsTests.<RuntimeException>fail(failure);
		}
	}

	@SuppressWarnings("unchecked")
	private static <E extends Throwable> void fail(Throwable failure) throws E {
		throw (E) failure;
	}

}
