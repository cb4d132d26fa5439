package org.leaderfollowers.internal.promotion;

import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/** Which numbers and places threads get that come and go. */
class MembersTests {

	private final Members<Member> members = new Members<>(Clock.SYSTEM);

	private Member enroll() {
		Thread thread = new Thread();
		return this.members.enroll(thread, (number, follower) -> new Member(number, follower, thread, true, 0));
	}

	@Test
	void eachMemberHasANumberOfItsOwn() {
		List<Member> enrolled = new ArrayList<>();
		for (int number = 1; number <= 100; number++) {
			Member member = enroll();
			enrolled.add(member);
			assertThat(member.number()).isEqualTo(number);
			assertThat(this.members.get(number)).isSameAs(member);
			assertThat(this.members.count()).isEqualTo(number);
		}
		assertThat(this.members.get(0)).isNull();
		assertThat(this.members.get(101)).isNull();
		assertThat(this.members.get(100_000)).isNull();
		assertThat(this.members.all()).isEqualTo(enrolled);
		assertThat(this.members.living()).isEqualTo(enrolled);
	}

	/** Otherwise threads that come and go would use up all numbers. */
	@Test
	void theNumberAndThePlaceOfAThreadThatHasEndedAreUsedAgain() {
		Member first = enroll();
		Member second = enroll();
		first.follower.deferInterrupt();
		assertThat(this.members.withdraw(first)).isOne();
		assertThat(this.members.get(1)).as("the latest member").isSameAs(first);
		assertThat(this.members.all()).containsExactly(first, second);
		assertThat(this.members.living()).containsExactly(second);
		Member third = enroll();
		assertThat(third.number()).isOne();
		assertThat(third.follower).isSameAs(first.follower);
		assertThat(third.follower.thread()).isSameAs(third.thread());
		assertThat(this.members.get(1)).isSameAs(third);
		assertThat(this.members.living()).containsExactly(third, second);
		assertThat(this.members.count()).isEqualTo(2);
	}

	/** The thread that wakes it would wake the successor instead. */
	@Test
	void aPlaceInWhichAThreadIsWokenIsNotGivenAway() {
		Member first = enroll();
		Followers followers = Followers.lifo();
		followers.enqueue(first.follower);
		this.members.withdraw(first);
		assertThat(enroll().number()).isEqualTo(2);
		assertThat(followers.signal()).isEqualTo(Followers.Signal.WOKEN);
		assertThat(enroll().number()).isEqualTo(3);
		followers.abandon(first.follower);
		assertThat(enroll().number()).isOne();
	}

	@Test
	void anInterruptOfTheThreadBeforeIsForgotten() {
		Thread.currentThread().interrupt();
		Member first = enroll();
		first.follower.deferInterrupt();
		assertThat(Thread.interrupted()).isFalse();
		assertThat(first.follower.isInterruptDeferred()).isTrue();
		this.members.withdraw(first);
		assertThat(enroll().follower.isInterruptDeferred()).isFalse();
	}

}
