package org.leaderfollowers;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.demultiplexing.HandleState.Claim;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.lifecycle.RetryBackoff;
import org.leaderfollowers.internal.promotion.Follower;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * A thread that shares the ready handles owns the socket of a server while another thread
 * leads. The owner must not wait for the leader, because the leader waits until an event
 * occurs.
 */
@Timeout(120)
class BoundSocketTests {

	@RegisterExtension
	private final Engine engine = new Engine();

	@RepeatedTest(20)
	void aListeningSocketIsClosedByAThreadThatDoesNotLead() throws Exception {
		TcpServer server = this.engine.lines(this.engine.pool(2, 2), Connection::send);
		Acceptor acceptor = (Acceptor) claim(server.life);
		acceptor.requestClose();
		closeAsOwner(acceptor);
		InetSocketAddress address = server.address();
		try (ServerSocket again = new ServerSocket(address.getPort(), 1, address.getAddress())) {
			assertThat(again.isBound()).isTrue();
		}
	}

	@RepeatedTest(20)
	void aDatagramSocketIsClosedByAThreadThatDoesNotLead() throws Exception {
		UdpServer server = this.engine
			.start(UdpServer.builder(this.engine.pool(2, 2)).handler((datagram, message) -> datagram.send(message)));
		DatagramReceiver receiver = (DatagramReceiver) claim(server.life);
		receiver.abort();
		closeAsOwner(receiver);
		try (DatagramChannel again = DatagramChannel.open()) {
			assertThat(again.bind(server.address()).getLocalAddress()).isEqualTo(server.address());
		}
	}

	/**
	 * For example, because memory is short. Two failures in a row are survived as well.
	 */
	@Test
	void aListeningSocketOutlivesAFailureOfItsHandler() throws Exception {
		TcpServer server = this.engine.lines(this.engine.pool(2, 2), Connection::send);
		for (int i = 0; i < 3; i++) {
			BoundSocket socket = claim(server.life);
			lookMeanwhile(socket);
			assertThat(socket.handle.closeAfterFailure(null, new OutOfMemoryError("made for the test"))).isTrue();
			assertThat(this.engine.connect(server).send("x\n").readLine()).isEqualTo("x");
		}
		assertThat(server.snapshot().state()).isEqualTo(ServerSnapshot.State.RUNNING);
	}

	/** The handle would stay claimed, and nobody would look at the socket any more. */
	@Test
	void aSocketOutlivesAFailureOfTheLeaderThatWorksOnIt() throws IOException {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		TcpServer server = this.engine.lines(pool, Connection::send);
		Participant me = new Participant(99, new Follower(99, Thread.currentThread()), Thread.currentThread(), true,
				null, (participant, exchange) -> Exchange.State.LOST, new MemoryBudget(1), 0);
		me.enter();
		try (DatagramChannel channel = DatagramChannel.open()) {
			FailingSocket socket = new FailingSocket(server.life.state(), channel, pool);
			socket.handle.pause();
			socket.workAtOnce();
			assertThat(socket.backoff.isBackingOff()).isTrue();
			assertThat(socket.handle.claimForLook()).isEqualTo(Claim.CLAIMED);
		}
		finally {
			me.withdraw();
		}
	}

	/** The JDK cannot close a socket that it has accepted when memory is too short. */
	@Test
	void aSocketThatTheJdkHasLostIsCounted() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 2);
		TcpServer server = this.engine.lines(pool, Connection::send);
		TcpServer.Builder builder = TcpServer.builder(pool);
		Acceptor acceptor = new Acceptor(server.life.state(), new LosingChannel(2), 1,
				(socket, handler) -> pool.handleSets()
					.newHandle(socket, handler, SelectionKey.OP_ACCEPT, new HandlerProfile()),
				new Admission(server.life.context(), TcpOptions.of(builder, Framing.line())));
		for (int lost = 1; lost <= 2; lost++) {
			long before = System.nanoTime();
			acceptor.prepare(null);
			assertThat(acceptor.lostSockets()).isEqualTo(lost);
			// Otherwise the thread may have stood still for longer than the first pause.
			if (System.nanoTime() - before < TimeUnit.MILLISECONDS.toNanos(100)) {
				assertThat(acceptor.isBackingOff()).isTrue();
			}
		}
		assertThat(this.engine.log()).noneMatch((line) -> line.contains("lost"));
		acceptor.prepare(null);
		assertThat(acceptor.isBackingOff()).isFalse();
		acceptor.prepare(null);
		assertThat(this.engine.log()).filteredOn((line) -> line.contains("has lost up to 2 sockets")).hasSize(1);
	}

	@Test
	void aListeningSocketThatItsServerHasNotClosedHasFailed() throws Exception {
		TcpServer server = this.engine.lines(this.engine.pool(2, 2), Connection::send);
		BoundSocket socket = claim(server.life);
		socket.handle.channel().close();
		closeAsOwner(socket);
		assertThat(server.snapshot().listening()).isFalse();
		assertThat(server.snapshot().listeningFailure()).isEqualTo("ClosedChannelException");
	}

	/** A thread fails between reading a datagram and calling its handler. */
	@Test
	void aDatagramThatIsNotHandledIsNoLongerUnderWay() throws Exception {
		UdpServer server = this.engine
			.start(UdpServer.builder(this.engine.pool(2, 2)).handler((datagram, message) -> datagram.send(message)));
		DatagramReceiver receiver = (DatagramReceiver) claim(server.life);
		Participant me = new Participant(99, new Follower(99, Thread.currentThread()), Thread.currentThread(), false,
				null, (participant, exchange) -> Exchange.State.LOST, new MemoryBudget(1), 0);
		try (DatagramChannel peer = DatagramChannel.open()) {
			peer.send(Engine.bytes("x"), server.address());
			Engine.eventually().until(() -> {
				// If the datagram has not arrived yet, prepare has released the handle.
				boolean prepared = receiver.prepare(me);
				if (!prepared) {
					claim(server.life);
				}
				return prepared;
			});
		}
		assertThat(receiver.inFlight()).isOne();
		assertThat(receiver.handle.closeAfterFailure(me, new OutOfMemoryError("made for the test"))).isTrue();
		assertThat(receiver.inFlight()).isZero();
		assertThat(server.close(Engine.DEADLINE)).isTrue();
	}

	/** The leader does not repeat the call, and a close waits for it. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void aSocketThatIsGoneIsClosedAlthoughTheSelectorFails(boolean isDatagram) throws Exception {
		AtomicReference<@Nullable Thread> failing = new AtomicReference<>(Thread.currentThread());
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 2).selectorProvider(new FaultySelectors(() -> {
				if (Thread.currentThread() == failing.get()) {
					throw new LinkageError("made for the test");
				}
			}, () -> {
			})));
		BoundSocket socket = claim(isDatagram
				? this.engine.start(UdpServer.builder(pool).handler((datagram, message) -> datagram.send(message))).life
				: this.engine.lines(pool, Connection::send).life);
		assertThatExceptionOfType(LinkageError.class).isThrownBy(socket::gone);
		failing.set(null);
		assertThat(socket.isClosed()).isTrue();
		socket.abort();
		closeAsOwner(socket);
	}

	private static BoundSocket claim(ServerLifecycle<?> life) {
		BoundSocket socket = Objects.requireNonNull(life.socket());
		Engine.eventually().until(socket.handle::isArmed);
		assertThat(socket.handle.claimForLook()).isEqualTo(Claim.CLAIMED);
		return socket;
	}

	/** Its owner has to look once more before it may pause. */
	@Test
	void aListeningSocketThatIsLookedAtWhileItIsPausedIsReleased() throws Exception {
		TcpServer server = this.engine.lines(this.engine.pool(2, 2), Connection::send);
		server.pause();
		BoundSocket socket = claim(server.life);
		lookMeanwhile(socket);
		CompletableFuture.runAsync(socket::workAlone).get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
		server.resume();
		assertThat(this.engine.connect(server).send("x\n").readLine()).isEqualTo("x");
	}

	/** Its descriptor may be the one that was missing. */
	@Test
	void aListeningSocketThatPausesIsLookedAtWhenAConnectionIsClosed() {
		TcpServer server = this.engine.lines(this.engine.pool(1, 1), Connection::send);
		Peer peer = this.engine.connect(server).send("x\n");
		assertThat(peer.readLine()).isEqualTo("x");
		Acceptor acceptor = (Acceptor) server.life.socket();
		// Nothing has told the leader that the pause will be over.
		acceptor.backoff.failed(new IOException("made for the test"));
		assertThat(acceptor.isBackingOff()).isTrue();
		peer.close();
		Engine.eventually().until(() -> !acceptor.isBackingOff());
	}

	/** The leader finds that another thread owns the socket. */
	private static void lookMeanwhile(BoundSocket socket) {
		socket.look();
		Engine.eventually().until(() -> !socket.handle.active);
	}

	private static void closeAsOwner(BoundSocket socket) throws Exception {
		CompletableFuture.runAsync(socket::workAlone).get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
		assertThat(socket.awaitClosed(Engine.DEADLINE.toNanos())).isTrue();
	}

	private static final class FailingSocket extends BoundSocket {

		FailingSocket(ServerState server, DatagramChannel channel, LeaderFollowersPool pool) {
			super(server, channel,
					(socket, handler) -> pool.handleSets()
						.newHandle(socket, handler, SelectionKey.OP_READ, new HandlerProfile()),
					new HandledWork("failing socket", null, null), new RetryBackoff("test", 0, "{} {}", "{}"));
		}

		@Override
		boolean wantsInput() {
			return false;
		}

		@Override
		boolean isOver() {
			return false;
		}

		@Override
		void workAlone() {
			throw new LinkageError("made for the test");
		}

		@Override
		void closeByForce() {
			abandon();
		}

		@Override
		public void abandon() {
			this.handle.closeChannel();
		}

		@Override
		public boolean prepare(Participant me) {
			return false;
		}

		@Override
		public void dispatch(Participant me) {
			throw new IllegalStateException("nothing was prepared");
		}

		@Override
		public boolean release(Participant me) {
			return pause();
		}

	}

	/** Fails when it accepts its first sockets, and has no more afterwards. */
	private static final class LosingChannel extends ServerSocketChannel {

		private int sockets;

		LosingChannel(int sockets) {
			super(SelectorProvider.provider());
			this.sockets = sockets;
		}

		@Override
		public SocketChannel accept() {
			if (this.sockets-- > 0) {
				throw new OutOfMemoryError("made for the test");
			}
			return null;
		}

		@Override
		public ServerSocketChannel bind(SocketAddress local, int backlog) {
			throw new UnsupportedOperationException();
		}

		@Override
		public <T> ServerSocketChannel setOption(SocketOption<T> name, T value) {
			throw new UnsupportedOperationException();
		}

		@Override
		public <T> T getOption(SocketOption<T> name) {
			throw new UnsupportedOperationException();
		}

		@Override
		public Set<SocketOption<?>> supportedOptions() {
			return Set.of();
		}

		@Override
		public ServerSocket socket() {
			throw new UnsupportedOperationException();
		}

		@Override
		public SocketAddress getLocalAddress() {
			throw new UnsupportedOperationException();
		}

		@Override
		protected void implCloseSelectableChannel() {
		}

		@Override
		protected void implConfigureBlocking(boolean block) {
		}

	}

}
