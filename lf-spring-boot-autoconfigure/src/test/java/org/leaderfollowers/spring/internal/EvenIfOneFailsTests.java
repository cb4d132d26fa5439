package org.leaderfollowers.spring.internal;

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
	void throwsAnError() {
		StackOverflowError failure = new StackOverflowError();
		assertThat(catchThrowable(() -> EvenIfOneFails.forAll(List.of(failure), this::act))).isSameAs(failure);
	}

	private void act(Object item) {
		this.seen.add(item);
		if (item instanceof RuntimeException ex) {
			throw ex;
		}
		if (item instanceof Error ex) {
			throw ex;
		}
	}

}
