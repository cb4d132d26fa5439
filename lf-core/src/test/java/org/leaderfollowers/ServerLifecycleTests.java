package org.leaderfollowers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.leaderfollowers.interleavings.Exploration;
import org.leaderfollowers.interleavings.Interleaving;
import org.leaderfollowers.interleavings.Scenario;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/** A server that could not be started leaves its port free, and nothing in its pool. */
class ServerLifecycleTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private final LeaderFollowersPool pool = this.engine.pool(1, 1);

	private final Lifecycle server = new Lifecycle(this.pool);

	@Test
	void closesTheSocketIfMemoryIsTooShortToBindIt() {
		this.server.failsToBind = true;
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(this.server::start);
		assertNothingIsLeft();
	}

	@Test
	void closesTheSocketIfItCannotBeBound() {
		this.server.isRefused = true;
		assertThatExceptionOfType(UncheckedIOException.class).isThrownBy(this.server::start)
			.withMessageContaining("made for the test");
		assertNothingIsLeft();
	}

	@Test
	void closesTheSocketIfMemoryIsTooShortForItsHandler() {
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(this.server::start);
		assertNothingIsLeft();
	}

	@Test
	void serverThatWasCutShortHasNotDrained() {
		assertThat(this.server.awaitDrained(Duration.ZERO)).isTrue();
		this.server.state().aborted();
		assertThat(this.server.awaitDrained(Duration.ZERO)).isFalse();
	}

	@Test
	void serverThatIsDoneIsNotCutShort() {
		this.server.isDrained = false;
		this.server.isDone = true;
		assertThat(this.server.close(Duration.ZERO)).isFalse();
		assertThat(this.server.state().isAborted()).isFalse();
		assertThat(this.engine.log()).isEmpty();
	}

	/** Another thread that drains must not take what the abort ends for finished. */
	@Test
	void serverSaysThatItIsCutShortBeforeAnythingEnds() {
		this.server.isDrained = false;
		assertThat(this.server.close(Duration.ZERO)).isFalse();
		assertThat(this.server.wasDrainedInTheAbort).isFalse();
		assertThat(this.engine.log()).singleElement().asString().contains("replies may be lost");
	}

	/** It may drain without a time limit. */
	@Test
	void closeEndsTheDrainOfAnotherThread() throws InterruptedException {
		this.server.isDrained = false;
		this.server.state().started();
		Thread drains = new Thread(() -> this.server.drain(Duration.ofDays(1)));
		drains.start();
		Engine.eventually().until(() -> drains.getState() == Thread.State.TIMED_WAITING);
		assertThat(this.server.close(Duration.ZERO)).isFalse();
		drains.join(Engine.DEADLINE.toMillis());
		assertThat(drains.isAlive()).isFalse();
	}

	/** The other thread ends everything that is left, whether it was answered or not. */
	@Test
	void drainThatAnotherThreadCutsShortDoesNotReportSuccess() throws Exception {
		this.server.isDrained = false;
		this.server.state().started();
		FutureTask<Boolean> drain = new FutureTask<>(() -> this.server.drain(Duration.ofDays(1)));
		Thread drains = new Thread(drain);
		drains.start();
		Engine.eventually().until(() -> drains.getState() == Thread.State.TIMED_WAITING);
		assertThat(this.server.close(Duration.ZERO)).isFalse();
		assertThat(drain.get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS)).isFalse();
	}

	@Test
	void connectionsInAnotherPoolDrainWithTheirServer() {
		ServerState whole = this.server.state();
		whole.started();
		ServerState other = whole.inOtherPool();
		assertThat(other.isDraining()).isFalse();
		whole.drain();
		assertThat(other.isDraining()).isTrue();
		assertThat(other.isEnding()).isTrue();
	}

	@Test
	void serverThatDrainsBeforeItsStartIsNotStarted() {
		assertThat(this.server.drain(Duration.ZERO)).isTrue();
		assertThat(this.server.state().current()).isEqualTo(ServerSnapshot.State.STOPPED);
		assertThatIllegalStateException().isThrownBy(this.server::start);
	}

	@Test
	void serverThatIsClosedStaysClosedIfItDrains() {
		this.server.state().started();
		assertThat(this.server.close(Duration.ZERO)).isTrue();
		this.server.drain(Duration.ZERO);
		assertThat(this.server.state().current()).isEqualTo(ServerSnapshot.State.STOPPED);
	}

	@Test
	void socketThatItsServerHasClosedHasNotFailed() {
		ServerState state = this.server.state();
		state.started();
		state.drain();
		state.listeningFailed(new IOException("made for the test"));
		assertThat(state.listeningFailure()).isNull();
		assertThat(this.engine.log()).isEmpty();
	}

	@Test
	@Tag("interleavings")
	void noConnectionDrainsBeforeItsTurnWhileAnEvacuationBegins() {
		Exploration.of(Evacuated.class).assertSound();
	}

	private void assertNothingIsLeft() {
		assertThat(this.server.opened).isNotNull();
		assertThat(this.server.opened.isOpen()).isFalse();
		assertThat(this.pool.close(Duration.ofSeconds(30))).isTrue();
		// The pool would have stopped it, too.
		assertThat(this.server.state().current()).isEqualTo(ServerSnapshot.State.NEW);
	}

	static final class Evacuated implements Scenario {

		private final ServerState state = new ServerState("test", new ServerWarnings("test", "handler", "pool"));

		@Override
		public void begin() {
			this.state.started();
			Interleaving.start("operator", this.state::evacuate);
			Interleaving.start("connection", () -> {
				if (this.state.isDraining()) {
					Interleaving.fail("the connection drains too early");
				}
			});
		}

		@Override
		public @Nullable String violationAtRest() {
			return null;
		}

	}

	private static final class Lifecycle extends ServerLifecycle<ServerSocketChannel> {

		private @Nullable ServerSocketChannel opened;

		private boolean failsToBind;

		private boolean isRefused;

		private boolean isDrained = true;

		private boolean isDone;

		/** What another thread would have seen when the abort had ended everything. */
		private @Nullable Boolean wasDrainedInTheAbort;

		Lifecycle(LeaderFollowersPool pool) {
			super(pool, new ServerState("test", new ServerWarnings("test", "handler", pool.name())),
					new InetSocketAddress("127.0.0.1", 0));
		}

		@Override
		ServerSocketChannel openChannel() throws IOException {
			this.opened = ServerSocketChannel.open();
			return this.opened;
		}

		@Override
		void bind(ServerSocketChannel channel, InetSocketAddress address) throws IOException {
			if (this.failsToBind) {
				throw new OutOfMemoryError("made for the test");
			}
			if (this.isRefused) {
				throw new IOException("made for the test");
			}
			channel.bind(address);
		}

		@Override
		BoundSocket newSocket(ServerSocketChannel channel) {
			throw new OutOfMemoryError("made for the test");
		}

		@Override
		@Nullable BoundSocket socket() {
			return null;
		}

		@Override
		void drainInput(long deadlineNanos) {
		}

		@Override
		boolean isDrained(int exceptHandlers) {
			return this.isDrained;
		}

		@Override
		boolean isOwn(EngineEventHandler handler) {
			return false;
		}

		@Override
		boolean isDone() {
			return this.isDone;
		}

		@Override
		String undone() {
			return "nothing";
		}

		@Override
		void abort(long deadlineNanos) {
			this.isDrained = true;
			this.wasDrainedInTheAbort = awaitDrained(Duration.ZERO);
		}

	}

}
