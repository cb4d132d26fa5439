package org.leaderfollowers;

import java.security.NoSuchAlgorithmException;
import java.util.concurrent.atomic.AtomicBoolean;

import javax.net.ssl.SSLContext;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.interleavings.Exploration;
import org.leaderfollowers.interleavings.Interleaving;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.interleavings.Scenario;
import org.leaderfollowers.internal.demultiplexing.HandleState;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.transport.TlsTransport;

/**
 * The interleavings of an acceptor that stops at the limits of {@link HandshakeGate} and
 * the threads that end handshakes: no limit is exceeded, and no connection waits in the
 * backlog although a handshake may begin.
 */
@Tag("interleavings")
class HandshakeGateInterleavingTests {

	/**
	 * The connections that arrive, a letter for each: the handshake is <em>c</em>ompleted
	 * and its connection is closed later, by two threads; it <em>f</em>ails; or its peer
	 * is <em>s</em>ilent.
	 */
	private enum Life {

		ONE_AT_A_TIME("fff", 1, 0, 1),

		TWO_AT_A_TIME("fff", 2, 0, 2),

		COMPLETED("cf", 1, 0, 1),

		COMPLETED_TWICE("ccf", 2, 0, 2),

		ONE_IS_SILENT("sfff", 2, 0, 2),

		ALL_ARE_SILENT("ss", 1, 0, 1),

		LIMIT_IS_RAISED("ssf", 1, 0, 3),

		TOO_FAST("ffff", 0, 1, 0),

		TOO_FAST_AND_TOO_MANY("ffff", 1, 1, 1);

		private final Object[] arguments;

		Life(String connections, int limit, int rate, int laterLimit) {
			this.arguments = new Object[] { connections, limit, rate, laterLimit };
		}

		Exploration exploration() {
			return Exploration.of(Backlog.class, this.arguments)
				.adapted(Mutation.withoutCall(HandshakeGate.class, "tryPass", "tooManyHandshakes"));
		}

	}

	private enum Rule {

		HANDSHAKES_UNDER_WAY_COUNT(Life.ONE_AT_A_TIME, Mutation.callReturns(HandshakeGate.class, "isFull", "size", 0)),

		A_HANDSHAKE_THAT_HAS_ENDED_GIVES_ROOM(Life.ONE_AT_A_TIME,
				Mutation.callReturns(HandshakeGate.class, "end", "remove", 1)),

		ITS_END_IS_REPORTED_IF_THE_ACCEPTOR_WAITS_FOR_IT(Life.ONE_AT_A_TIME,
				Mutation.fieldReads(HandshakeGate.class, "end", "full", 0)),

		THE_ACCEPTOR_DOES_NOT_SPIN_WHILE_THE_GATE_IS_CLOSED(Life.ALL_ARE_SILENT,
				Mutation.callReturns(HandshakeGate.class, "isOpen", "isFull", 0)),

		A_GATE_THAT_IS_NOTED_AS_FULL_IS_CHECKED_ONCE_MORE(Life.ONE_AT_A_TIME,
				Mutation.callReturns(HandshakeGate.class, "isOpen", "isFull", 1)),

		NEW_LIMITS_ARE_REPORTED(Life.LIMIT_IS_RAISED, Mutation.withoutCall(HandshakeGate.class, "limits", "run")),

		THE_RATE_IS_CHECKED(Life.TOO_FAST, Mutation.fieldReads(HandshakeGate.class, "tryPass", "usedNanos", 0)),

		EACH_HANDSHAKE_USES_THE_RATE_UP(Life.TOO_FAST,
				Mutation.callReturns(HandshakeGate.class, "begin", "maxHandshakeRate", 0)),

		THE_ACCEPTOR_KNOWS_WHEN_TO_TRY_AGAIN(Life.TOO_FAST_AND_TOO_MANY,
				Mutation.fieldReads(HandshakeGate.class, "retryNanos", "retryNanos", 1));

		private final Life life;

		private final Mutation mutation;

		Rule(Life life, Mutation mutation) {
			this.life = life;
			this.mutation = mutation;
		}

	}

	@ParameterizedTest
	@EnumSource
	void everyConnectionIsAcceptedWithinTheLimits(Life life) {
		life.exploration().assertSound();
	}

	@ParameterizedTest
	@EnumSource
	@Tag("stress")
	void everyConnectionIsAcceptedWithinTheLimitsWithOnePreemptionMore(Life life) {
		life.exploration().preemptions(3).assertSound();
	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Rule rule) {
		rule.life.exploration().with(rule.mutation).assertViolated();
	}

	/**
	 * The real gate and {@link HandleState}, with a leader that accepts as
	 * {@link Acceptor} does. A look that was requested is a field.
	 */
	static final class Backlog extends HandleState implements Scenario {

		private static final long SECOND = 1_000_000_000;

		private final String connections;

		private final ServerTls later;

		private final int limit;

		private final int rate;

		private final long begunNanos = System.nanoTime();

		private final HandshakeGate gate;

		private final AtomicBoolean lookRequested = new AtomicBoolean();

		private volatile boolean active;

		private volatile boolean raised;

		/** How many connections have arrived; written by the peers. */
		private volatile int arrived;

		/** How many of them have been accepted; written by the leader. */
		private volatile int accepted;

		/** How many handshakes are under way, as their threads see it. */
		private int underWay;

		Backlog(String connections, int limit, int rate, int laterLimit) throws NoSuchAlgorithmException {
			this.connections = connections;
			this.limit = limit;
			this.rate = rate;
			ServerTls tls = ServerTls.of(SSLContext.getDefault()).maxHandshakes(limit).maxHandshakeRate(rate);
			this.later = tls.maxHandshakes(laterLimit);
			Clock clock = new Clock() {

				@Override
				public long nanoTime() {
					return System.nanoTime();
				}

			};
			this.gate = new HandshakeGate(tls, clock, new ServerWarnings("test", "handler", "pool"), this::look);
		}

		@Override
		public void begin() {
			arm(release());
			Interleaving.start("leader", this::lead);
			Interleaving.start("peers", () -> {
				while (this.arrived < this.connections.length()) {
					this.arrived++;
				}
			});
			if (this.later.maxHandshakes() != this.limit) {
				Interleaving.start("operator", () -> {
					this.raised = true;
					this.gate.limits(this.later);
				});
			}
		}

		private void look() {
			this.lookRequested.set(true);
		}

		private void arm(Release release) {
			if (release == Release.REARM_NEEDED && arm()) {
				this.active = true;
			}
		}

		private boolean fires() {
			return this.active && this.accepted < this.arrived;
		}

		private void lead() {
			for (;;) {
				Interleaving.await("selects", () -> this.lookRequested.get() || fires(), this.gate.retryNanos());
				boolean looks = this.lookRequested.getAndSet(false) || this.gate.retryNanos() - System.nanoTime() <= 0;
				Claim claim = looks ? claimForLook() : claimFired();
				if (claim == Claim.CLAIMED) {
					do {
						accept();
					}
					while (!releaseOrPause());
				}
				else if (claim == Claim.UNWANTED) {
					this.active = false;
				}
				Interleaving.beginAnew("leads");
			}
		}

		private void accept() {
			while (this.gate.tryPass() && this.accepted < this.arrived) {
				TlsTransport transport = new TlsTransport(null, null, null, null, 0);
				char life = this.connections.charAt(this.accepted);
				this.accepted++;
				count(1);
				this.gate.begin(transport);
				if (life != 's') {
					Interleaving.start("handshake" + this.accepted, () -> {
						count(-1);
						this.gate.end(transport);
						if (life == 'c') {
							this.gate.end(transport);
						}
					});
				}
			}
		}

		/** Ends are counted before the gate hears of them, so this is never too much. */
		private synchronized void count(int change) {
			this.underWay += change;
			int most = this.raised ? this.later.maxHandshakes() : this.limit;
			if (most != 0 && this.underWay > most) {
				Interleaving.fail("more handshakes than allowed");
			}
			// In this order: time may pass in between.
			int begun = this.accepted;
			long seconds = (System.nanoTime() - this.begunNanos) / SECOND;
			if (this.rate != 0 && begun > this.rate * (seconds + 1) + 1) {
				Interleaving.fail("handshakes begin too fast");
			}
		}

		private boolean releaseOrPause() {
			if (!this.gate.isOpen()) {
				return pauseUntilOpen();
			}
			Release release = release();
			arm(release);
			return release != Release.LOOK_AGAIN;
		}

		private boolean pauseUntilOpen() {
			if (pause() == Release.LOOK_AGAIN) {
				return false;
			}
			if (this.gate.isOpen()) {
				look();
			}
			return true;
		}

		@Override
		public String violationAtRest() {
			if (this.accepted == this.connections.length() || this.underWay == this.later.maxHandshakes()) {
				return null;
			}
			return "connections wait: %d of %d were accepted".formatted(this.accepted, this.connections.length());
		}

		@Override
		public int patience() {
			return this.connections.length();
		}

		@Override
		public long delayNanos() {
			return SECOND * (this.connections.length() + 1);
		}

	}

}
