package org.leaderfollowers.internal.promotion;

import java.time.Duration;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.interleavings.Exploration;
import org.leaderfollowers.interleavings.Interleaving;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.interleavings.Scenario;

/**
 * The interleavings of a leader that nobody watches and a thread that records since when
 * its set is starved: no period is left behind, and none is lost.
 */
@Tag("interleavings")
class StarvationInterleavingTests {

	private enum Rule {

		A_LEASE_THAT_HAS_ENDED_STARVES_NOBODY("starve, regain", Mutation.withoutCall(Leases.class, "starve", "cancel")),

		A_VACANCY_THAT_FOLLOWS_A_LEASE_STAYS_STARVED("starve, promote",
				Mutation.callReturns(Leases.class, "starve", "isVacant#2", 0)),

		A_LEASE_THAT_FOLLOWS_A_CHANGED_ONE_HAS_AN_END_OF_ITS_OWN("change, again, lasts",
				Mutation.callReturns(Leases.class, "moveStarvation", "leaseWord#2", 0));

		private final String options;

		private final Mutation mutation;

		Rule(String options, Mutation mutation) {
			this.options = options;
			this.mutation = mutation;
		}

	}

	@ParameterizedTest
	@ValueSource(strings = { "starve, regain", "starve, promote", "starve, again, lasts" })
	void noPeriodIsLeftBehindOrLost(String options) {
		Exploration.of(Pool.class, options).assertSound();
	}

	@ParameterizedTest
	@ValueSource(strings = { "change, regain", "change, promote", "change, again, promote", "change, again, lasts" })
	void noPeriodIsLeftBehindOrLostIfTheLeaseChanges(String options) {
		Exploration.of(Pool.class, options).preemptions(4).assertSound();
	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Rule rule) {
		Exploration.of(Pool.class, rule.options).with(rule.mutation).assertViolated();
	}

	/**
	 * A handler of the leader runs under a lease, and perhaps another one <em>again</em>,
	 * after the lease was changed. The leader <em>regains</em> the leadership,
	 * <em>promotes</em>, or its handler <em>lasts</em>.
	 */
	static final class Pool implements Scenario {

		private final SteppedPool pool = new SteppedPool(1, 1, 1);

		private final SteppedPool.Set set = this.pool.sets[0];

		private final Leases leases = this.pool.promotion.leases();

		private final Member leader = this.pool.leader(this.set);

		private final String options;

		Pool(String options) {
			this.options = options;
		}

		private boolean isOn(String option) {
			return this.options.contains(option);
		}

		private long now() {
			return this.pool.clock.nanoTime();
		}

		@Override
		public void begin() {
			this.pool.startAllThreads();
			Interleaving.start("leader", () -> {
				lease();
				if (isOn("again")) {
					Interleaving.await("the lease has changed", () -> !isOn("change")
							|| this.pool.threads.settings().leaseNanos() != SteppedPool.LEASE_NANOS);
					this.leases.regain(this.leader, now());
					this.pool.clock.now += 100;
					lease();
				}
				if (isOn("regain")) {
					this.leases.regain(this.leader, now());
				}
				if (isOn("promote")) {
					this.pool.promotion.promoteNewLeader(this.leader);
				}
			});
			Interleaving.start("other", () -> {
				if (isOn("starve")) {
					this.leases.starve();
				}
				else {
					this.pool.threads.change((settings, now) -> settings.withLease(Duration.ofSeconds(1), now), now());
					this.leases.settingsChanged();
				}
			});
		}

		private void lease() {
			this.leases.lease(this.leader, this.set, now(), this.pool.threads.settings());
		}

		@Override
		public @Nullable String violationAtRest() {
			if (isOn("lasts")) {
				long end = this.pool.threads.settings().leaseEndNanos(this.set.leasedNanos());
				return (this.pool.starvation.nanos(this.set, end + 1) == 1) ? null : "it begins at another time";
			}
			boolean starved = this.pool.starvation.nanos(this.set, now() + Duration.ofHours(1).toNanos()) > 0;
			if (isOn("promote")) {
				return starved ? null : "a set without a leader is not starved";
			}
			return starved ? "a set with a leader is starved" : null;
		}

	}

}
