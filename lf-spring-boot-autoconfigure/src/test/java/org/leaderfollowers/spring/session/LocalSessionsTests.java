package org.leaderfollowers.spring.session;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.stream.Stream;

import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link LocalSessions}. Each of its transitions is atomic, so the orders of
 * whole transitions are all interleavings there are, and the tests run every one of them.
 */
class LocalSessionsTests {

	private static final String NAME = "4711";

	private static LocalSession session(long epoch) {
		return new LocalSession(entry("here", epoch), mock(Connection.class));
	}

	private static SessionEntry entry(String node, long epoch) {
		return new SessionEntry(NAME, node, "default", epoch, Instant.EPOCH, 0, Instant.EPOCH);
	}

	/** What happens to a name: steps of one actor happen in their order. */
	private static final class Trial {

		private final LocalSessions sessions = new LocalSessions();

		private final Set<LocalSession> lost = new HashSet<>();

		private final Set<LocalSession> removed = new HashSet<>();

		private long epoch;

		private void login(LocalSession session, int step) {
			if (step == 0) {
				this.sessions.begin(NAME);
			}
			else {
				lose(this.sessions.finish(session));
			}
		}

		private void elsewhere(long newEpoch) {
			lose(this.sessions.concede(entry("there", newEpoch)));
		}

		private void end(LocalSession session) {
			if (this.sessions.remove(session)) {
				assertThat(this.removed.add(session)).as("removed once").isTrue();
			}
		}

		private void lose(LocalSession session) {
			if (session != null) {
				assertThat(this.lost.add(session)).as("lost once").isTrue();
			}
		}

		private void check(List<String> order) {
			LocalSession holder = this.sessions.get(NAME);
			if (holder != null) {
				assertThat(holder.entry().epoch()).as("epoch after %s", order).isGreaterThanOrEqualTo(this.epoch);
				assertThat(this.lost).as("losers after %s", order).doesNotContain(holder);
				this.epoch = holder.entry().epoch();
			}
		}

	}

	private interface Step {

		void take();

	}

	private static void inEveryOrder(Function<Trial, List<List<Step>>> actors, BiConsumer<Trial, List<String>> check) {
		List<List<Integer>> orders = new ArrayList<>();
		orders(new int[0], actors.apply(new Trial()).stream().mapToInt(List::size).toArray(), orders);
		assertThat(orders).hasSizeGreaterThanOrEqualTo(10);
		for (List<Integer> order : orders) {
			Trial trial = new Trial();
			List<List<Step>> steps = actors.apply(trial);
			int[] next = new int[steps.size()];
			List<String> taken = new ArrayList<>();
			for (int actor : order) {
				taken.add(actor + "." + next[actor]);
				steps.get(actor).get(next[actor]++).take();
				trial.check(taken);
			}
			check.accept(trial, taken);
		}
	}

	private static void orders(int[] begun, int[] left, List<List<Integer>> found) {
		boolean complete = true;
		for (int actor = 0; actor < left.length; actor++) {
			if (left[actor] > 0) {
				complete = false;
				int[] longer = Arrays.copyOf(begun, begun.length + 1);
				longer[begun.length] = actor;
				int[] fewer = left.clone();
				fewer[actor]--;
				orders(longer, fewer, found);
			}
		}
		if (complete) {
			found.add(Arrays.stream(begun).boxed().toList());
		}
	}

	@Test
	void ofLoginsOnThisNodeTheHighestEpochRemains() {
		LocalSession first = session(1);
		LocalSession second = session(2);
		LocalSession third = session(3);
		inEveryOrder((trial) -> Stream.of(first, second, third)
			.map((session) -> List.<Step>of(() -> trial.login(session, 0), () -> trial.login(session, 1)))
			.toList(), (trial, order) -> {
				assertThat(trial.sessions.get(NAME)).as("holder after %s", order).isSameAs(third);
				assertThat(trial.lost).as("losers after %s", order).containsExactlyInAnyOrder(first, second);
			});
	}

	@Test
	void aLoginThatAnotherNodeHasTakenOverNeverHolds() {
		LocalSession here = session(5);
		inEveryOrder(
				(trial) -> List.of(List.of(() -> trial.login(here, 0), () -> trial.login(here, 1)),
						List.of(() -> trial.elsewhere(3), () -> trial.elsewhere(6), () -> trial.elsewhere(4))),
				(trial, order) -> {
					// A message that came before the login began was for another session,
					// because the directory gave the higher epoch later.
					boolean missed = order.indexOf("1.1") < order.indexOf("0.0");
					assertThat(trial.lost.contains(here)).as("lost after %s", order).isEqualTo(!missed);
					assertThat(trial.sessions.get(NAME)).as("holder after %s", order).isSameAs(missed ? here : null);
				});
	}

	@Test
	void aSessionThatEndsLeavesNothingAndTakesNothingFromItsSuccessor() {
		LocalSession first = session(1);
		LocalSession second = session(2);
		inEveryOrder((trial) -> List.of(
				List.of(() -> trial.login(first, 0), () -> trial.login(first, 1), () -> trial.end(first)),
				List.of(() -> trial.login(second, 0), () -> trial.login(second, 1)), List.of(() -> trial.elsewhere(1))),
				(trial, order) -> {
					assertThat(trial.sessions.get(NAME)).as("holder after %s", order).isSameAs(second);
					assertThat(trial.lost.contains(first) || trial.removed.contains(first))
						.as("the end of the first after %s", order)
						.isTrue();
					trial.end(second);
					assertThat(trial.sessions.get(NAME)).isNull();
					assertThat(trial.sessions).as("what is kept of names that nobody holds")
						.extracting("places")
						.asInstanceOf(InstanceOfAssertFactories.MAP)
						.isEmpty();
				});
	}

	@Test
	void aRefusedLoginLeavesNothing() {
		LocalSessions sessions = new LocalSessions();
		sessions.begin(NAME);
		assertThat(sessions.concede(entry("there", 9))).isNull();
		sessions.abort(NAME);
		sessions.begin(NAME);
		LocalSession later = session(1);
		assertThat(sessions.finish(later)).as("who lost").isNull();
		assertThat(sessions.get(NAME)).isSameAs(later);
		assertThat(sessions.concede(entry("there", 1))).as("by the node").isSameAs(later);
	}

	@Test
	void aSessionLeavesItsGroupsWhenItEnds() {
		LocalSessions sessions = new LocalSessions();
		LocalSession one = session(1);
		sessions.begin(NAME);
		sessions.finish(one);
		sessions.join(one, "red");
		sessions.join(one, "blue");
		sessions.leave(one, "blue");
		assertThat(sessions.members("red")).containsExactly(one);
		assertThat(sessions.members("blue")).isEmpty();
		assertThat(one.groups()).containsExactly("red");
		one.ended().set(true);
		sessions.remove(one);
		assertThat(sessions.members("red")).isEmpty();
		sessions.join(one, "green");
		assertThat(sessions.members("green")).as("joined after its end").isEmpty();
		assertThat(sessions).extracting("groups").asInstanceOf(InstanceOfAssertFactories.MAP).isEmpty();
	}

}
