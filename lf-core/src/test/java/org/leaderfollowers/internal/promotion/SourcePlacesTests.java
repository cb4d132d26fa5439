package org.leaderfollowers.internal.promotion;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/** When a source is led, and when it rests, step by step. */
class SourcePlacesTests {

	private static final int MANY = 10;

	/** Two further places for the two sources. */
	private final SteppedPool pool = new SteppedPool(1, 2, 1, 5);

	private final SteppedPool.TickingClock clock = this.pool.clock;

	private final SteppedPool.Set set = this.pool.sets[0];

	private final SteppedPool.Set source = this.pool.sets[1];

	private final SteppedPool.Set other = this.pool.sets[2];

	private final SourcePlaces places = new SourcePlaces(this.pool.promotion,
			new Leadership[] { this.source, this.other }, 1, this.pool.threads, this.clock);

	private final Follower follower;

	SourcePlacesTests() {
		this.pool.leader(this.set);
		this.pool.startAllThreads();
		this.follower = this.pool.follower();
	}

	/** A thread that leads a source, and begins to handle an event. */
	private Member begin(SteppedPool.Set of) {
		Member member = this.pool.leader(of);
		this.clock.now++;
		this.places.begin(member, of);
		return member;
	}

	/** As {@link #begin}. The thread gives the leadership up, which it still has. */
	private Member handle(SteppedPool.Set of) {
		Member member = begin(of);
		assertThat(member.leading()).isSameAs(of);
		of.giveUp(member.number(), this.clock.now);
		member.leading = null;
		return member;
	}

	/** The follower has looked for a leadership, and waits again. */
	private void waitAgain() {
		this.pool.followers.leave(this.follower);
		this.pool.followers.enqueue(this.follower);
	}

	private void changeMaximum(int max) {
		this.pool.threads.change((settings, now) -> settings.withThreads(1, max), this.clock.now);
		this.places.settingsChanged();
	}

	@Test
	void anOpenSourceGetsALeader() {
		assertThat(this.source.isResting()).isTrue();
		this.places.open(this.source, 1);
		assertThat(this.source.isVacant()).isTrue();
		assertThat(this.follower.isSignalled()).isTrue();
		assertThat(this.other.isResting()).isTrue();
	}

	@Test
	void aSourceWithoutAPlaceForAnotherThreadRestsWhileItsHandlerRuns() {
		this.places.open(this.source, 1);
		waitAgain();
		Member me = begin(this.source);
		assertThat(this.source.isResting()).isTrue();
		assertThat(me.leading()).isNull();
		assertThat(me.role()).isEqualTo(Member.Role.PROCESSING);
		assertThat(me.sinceNanos()).isEqualTo(this.clock.now);
		assertThat(this.places.handling(this.source)).isOne();
		this.clock.now++;
		me.latestIndex = this.set.index();
		this.places.end(me, this.source);
		assertThat(me.leading()).isSameAs(this.source);
		assertThat(this.source.holder()).isEqualTo(me.number());
		assertThat(me.role()).isEqualTo(Member.Role.LEADER);
		assertThat(me.sinceNanos()).isEqualTo(this.clock.now);
		assertThat(me.latestIndex).isEqualTo(this.source.index());
		assertThat(this.places.handling(this.source)).isZero();
		assertThat(this.follower.isWaiting()).as("nobody had to be woken").isTrue();
	}

	@Test
	void anotherThreadLeadsTheSourceIfItsHandlerLeadsElsewhereWhenItReturns() {
		this.places.open(this.source, 1);
		this.pool.followers.leave(this.follower);
		Member me = this.pool.leader(this.source);
		me.worksOn(new SteppedPool.Work());
		this.places.begin(me, this.source);
		this.places.open(this.other, 1);
		this.pool.lead(me, this.other);
		this.pool.followers.enqueue(this.follower);
		this.clock.now += 1000;
		this.places.end(me, this.source);
		assertThat(me.leading()).isSameAs(this.other);
		assertThat(this.source.isVacant()).isTrue();
		assertThat(this.follower.isSignalled()).isTrue();
		this.clock.now += 5;
		Member next = this.pool.member();
		assertThat(this.pool.promotion.arrive(next)).isSameAs(this.source);
		assertThat(this.pool.handOffs).containsExactly("EAGER 5");
		HandOffRing.Copy<HandledWork> handOff = new HandOffRing.Copy<>();
		assertThat(this.source.handOffs().latest().read(1, handOff)).isTrue();
		assertThat(handOff.from()).isEqualTo(me.thread().getName());
		assertThat(handOff.to()).isEqualTo(next.thread().getName());
		assertThat(handOff.work()).isEqualTo(SteppedPool.Work.WORK);
		assertThat(handOff.workNumber()).isEqualTo(SteppedPool.Work.NUMBER);
	}

	@Test
	void theSourcesShareTheThreadsThatAreLeft() {
		this.places.open(this.source, MANY);
		this.places.open(this.other, MANY);
		Member first = handle(this.source);
		Member second = handle(this.source);
		begin(this.source);
		assertThat(this.places.handling(this.source)).isEqualTo(3);
		assertThat(this.source.isResting()).as("two further places").isTrue();
		Member fourth = begin(this.other);
		assertThat(this.other.isResting()).as("the place of its own").isTrue();
		this.places.end(first, this.source);
		assertThat(first.leading()).as("a place is free").isSameAs(this.source);
		this.places.end(second, this.source);
		assertThat(second.leading()).isNull();
		assertThat(this.other.isVacant()).as("another place is free").isTrue();
		this.places.end(fourth, this.other);
		assertThat(fourth.leading()).as("it is not at rest").isNull();
	}

	@Test
	void aSourceHasAPlaceOfItsOwn() {
		changeMaximum(3);
		this.places.open(this.source, MANY);
		this.places.open(this.other, MANY);
		Member me = begin(this.source);
		assertThat(this.source.isResting()).isTrue();
		begin(this.other);
		assertThat(this.other.isResting()).isTrue();
		this.places.end(me, this.source);
		assertThat(me.leading()).isSameAs(this.source);
		assertThat(this.other.isResting()).isTrue();
	}

	@Test
	void sourcesAreOpenedIfTheMaximumIsRaised() {
		this.places.open(this.source, MANY);
		handle(this.source);
		handle(this.source);
		begin(this.source);
		waitAgain();
		changeMaximum(5);
		assertThat(this.source.isResting()).isTrue();
		changeMaximum(6);
		assertThat(this.source.isVacant()).isTrue();
		assertThat(this.follower.isSignalled()).isTrue();
	}

	@Test
	void aSourceWithTheMaximumNumberOfHandlersRests() {
		this.places.open(this.source, 2);
		handle(this.source);
		Member me = begin(this.source);
		assertThat(this.source.isResting()).isTrue();
		changeMaximum(50);
		assertThat(this.source.isResting()).isTrue();
		this.places.end(me, this.source);
		assertThat(me.leading()).isSameAs(this.source);
	}

	@Test
	void aClosedSourceRestsAsSoonAsItsLeaderNoticesIt() {
		this.places.open(this.source, 1);
		Member me = this.pool.leader(this.source);
		this.places.restIfClosed(me, this.source);
		assertThat(me.leading()).isSameAs(this.source);
		this.places.close(this.source);
		Member processing = this.pool.member();
		this.places.restIfClosed(processing, this.source);
		assertThat(this.source.isResting()).as("its leader does that").isFalse();
		this.places.restIfClosed(me, this.source);
		assertThat(this.source.isResting()).isTrue();
		assertThat(me.leading()).isNull();
		changeMaximum(50);
		assertThat(this.source.isResting()).isTrue();
	}

	@Test
	void aSourceThatWasClosedWhileItsHandlerRanIsNotLedAgain() {
		this.places.open(this.source, 1);
		Member me = begin(this.source);
		this.places.close(this.source);
		this.places.end(me, this.source);
		assertThat(me.leading()).isNull();
		assertThat(this.source.isResting()).isTrue();
	}

	@Test
	void theFurtherPlaceOfAClosedSourceIsForOthers() {
		changeMaximum(4);
		this.places.open(this.source, MANY);
		this.places.open(this.other, MANY);
		handle(this.source);
		Member leader = this.pool.leader(this.source);
		begin(this.other);
		assertThat(this.other.isResting()).isTrue();
		waitAgain();
		this.places.close(this.source);
		this.places.restIfClosed(leader, this.source);
		assertThat(this.other.isVacant()).isTrue();
		assertThat(this.follower.isSignalled()).isTrue();
	}

	/** An event source may call methods of the pool. */
	@Test
	void aThreadThatHasLostTheLeadershipPutsNothingToRest() {
		this.places.open(this.source, 1);
		this.pool.leader(this.source);
		Member me = this.pool.member();
		this.places.begin(me, this.source);
		assertThat(this.source.isResting()).isFalse();
		assertThat(this.places.handling(this.source)).isOne();
	}

	/** It took turns with that one. */
	@Test
	void aLeaderThatRestsLeavesOtherVacanciesToAnotherThread() {
		this.places.open(this.source, 2);
		this.pool.leader(this.source);
		this.places.open(this.other, 1);
		waitAgain();
		assertThat(this.other.isVacant()).isTrue();
		Member processing = this.pool.member();
		this.places.begin(processing, this.source);
		assertThat(this.follower.isWaiting()).as("the leader stays").isTrue();
		Member leader = this.pool.members.get(this.source.holder());
		this.places.begin(leader, this.source);
		assertThat(leader.leading()).isNull();
		assertThat(this.follower.isSignalled()).isTrue();
	}

}
