package org.leaderfollowers;

import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.channels.DatagramChannel;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.demultiplexing.HandleState.Claim;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.promotion.Follower;

import static org.assertj.core.api.Assertions.assertThat;

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

	/** The leader finds that another thread owns the socket. */
	private static void lookMeanwhile(BoundSocket socket) {
		socket.look();
		Engine.eventually().until(() -> !socket.handle.active);
	}

	private static void closeAsOwner(BoundSocket socket) throws Exception {
		CompletableFuture.runAsync(socket::workAlone).get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
		assertThat(socket.awaitClosed(Engine.DEADLINE.toNanos())).isTrue();
	}

}
