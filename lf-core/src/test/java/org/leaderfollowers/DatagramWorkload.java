package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.BitSet;
import java.util.function.Consumer;
import java.util.function.IntConsumer;

import org.leaderfollowers.simulation.Simulator;

/**
 * A server of datagrams in a simulated run, and peers that send requests to it. A request
 * is an action of the handler and its number; the reply repeats the number. Each request
 * that has reached the socket is handled, and once.
 */
final class DatagramWorkload implements MessageHandler {

	private static final int MOST_REQUESTS = 40;

	/** Over how long the requests are spread. */
	private static final int NANOS = 30_000_000;

	private final Simulator simulator;

	/** Whether calls of the JDK and handlers fail. */
	private final boolean fails;

	private final String actions;

	/** Sends a request in the middle of a handler. */
	private final IntConsumer exchange;

	/** Executes a task on a thread of the application. */
	private final Consumer<Runnable> application;

	private final int maxInFlight;

	private final UdpServer server;

	private final BitSet arrived = new BitSet();

	private final BitSet handled = new BitSet();

	/** Requests to which a reply was sent. */
	private final BitSet answered = new BitSet();

	private final BitSet replied = new BitSet();

	/** How many requests neither have arrived nor were dropped. */
	private int onTheWay;

	private int running;

	/** What had arrived when the server began to drain. */
	private BitSet drained = new BitSet();

	DatagramWorkload(Simulator simulator, LeaderFollowersPool pool, boolean fails, boolean nests, IntConsumer exchange,
			Consumer<Runnable> application) {
		this.simulator = simulator;
		this.fails = fails;
		this.actions = "rrrrbbso" + (nests ? "x" : "") + (fails ? "te" : "");
		this.exchange = exchange;
		this.application = application;
		this.maxInFlight = 1 + simulator.choose(8);
		this.server = UdpServer.builder(pool)
			.name("datagrams")
			.port(0)
			.maxInFlight(this.maxInFlight)
			.suspensionTimeout(Duration.ofSeconds(10))
			.handler(this)
			.build();
	}

	void begin() {
		this.server.start();
		int requests = this.simulator.choose(MOST_REQUESTS);
		this.onTheWay = requests;
		int peer = this.simulator.network().datagramPeer(this::replied);
		for (int i = 0; i < requests; i++) {
			byte[] request = text(this.actions.charAt(this.simulator.choose(this.actions.length())), i);
			int number = i;
			this.simulator.at(this.simulator.nanoTime() + this.simulator.choose(NANOS), "request " + i,
					() -> this.simulator.network().sendDatagram(peer, this.server.port(), request, (arrives) -> {
						this.onTheWay--;
						this.arrived.set(number, arrives);
					}));
		}
	}

	private static byte[] text(char action, int number) {
		return "%c%d".formatted(action, number).getBytes(StandardCharsets.US_ASCII);
	}

	private static int number(ByteBuffer message) {
		return Integer
			.parseInt(StandardCharsets.US_ASCII.decode(message.slice(message.position() + 1, message.remaining() - 1))
				.toString());
	}

	private void replied(ByteBuffer reply) {
		int number = number(reply);
		require(this.answered.get(number), "a reply to request " + number + " came from nowhere");
		require(!this.replied.get(number), "request " + number + " was replied to twice");
		this.replied.set(number);
	}

	@Override
	public void onMessage(Connection datagram, ByteBuffer message) {
		int number = number(message);
		char action = (char) message.get(message.position());
		this.simulator.note("onMessage of datagram " + action + number);
		require(!this.handled.get(number), "request " + number + " was handled twice");
		this.handled.set(number);
		this.running++;
		require(this.running <= this.maxInFlight, "too many handlers of datagrams");
		try {
			act(datagram, action, number);
		}
		finally {
			this.running--;
		}
	}

	private void act(Connection datagram, char action, int number) {
		switch (action) {
			case 'b' -> {
				this.simulator.sleep(this.simulator.choose(5_000_000));
				reply(datagram, number);
			}
			case 's' -> {
				Suspension suspension = datagram.suspend();
				this.application.accept(() -> {
					reply(datagram, number);
					suspension.resume();
				});
			}
			case 'o' -> {
				OwedReply owed = datagram.owe();
				this.application.accept(() -> {
					reply(datagram, number);
					owed.close();
				});
			}
			case 'x' -> {
				this.exchange.accept(number);
				reply(datagram, number);
			}
			case 't' -> throw new IllegalArgumentException("simulated");
			case 'e' -> throw new org.leaderfollowers.simulation.SimulatedFailure();
			default -> reply(datagram, number);
		}
	}

	private void reply(Connection datagram, int number) {
		this.answered.set(number);
		try {
			datagram.send(ByteBuffer.wrap(text('R', number)));
		}
		catch (ConnectionClosedException ex) {
			require(this.fails, "the reply to request " + number + " was not sent: " + ex);
		}
	}

	@Override
	public void onError(Connection datagram, Throwable failure) {
		this.simulator.note("onError of a datagram: " + failure);
		require(this.fails, "a datagram failed: " + failure);
	}

	/** Pauses the server for a while. */
	void pause() {
		this.server.pause();
		this.simulator.sleep(this.simulator.choose(5_000_000));
		this.server.resume();
	}

	/** Requires that each request that has arrived is handled and replied to. */
	void awaitReplies(long patienceNanos) {
		boolean done = this.simulator.await("awaits the datagrams",
				() -> this.onTheWay == 0 && this.handled.equals(this.arrived) && isReplied(),
				this.simulator.nanoTime() + patienceNanos);
		require(done, "of datagrams %s, %s were handled and %s replied to%s".formatted(this.arrived, this.handled,
				this.replied, this.simulator.describeThreads()));
	}

	private boolean isReplied() {
		return this.fails || this.replied.equals(this.arrived);
	}

	/** The server is about to be drained. */
	void beginsToDrain() {
		this.drained = (BitSet) this.arrived.clone();
	}

	/** Requires that nothing is lost after the server was drained. */
	void check() {
		require(this.running == 0, "a handler of a datagram has not returned");
		BitSet lost = (BitSet) this.drained.clone();
		lost.andNot(this.answered);
		require(this.fails || lost.isEmpty(), "requests that had arrived are lost: " + lost);
		require(this.server.snapshot().datagrams().inFlight() == 0, "a datagram is still under way");
	}

	private void require(boolean holds, String rule) {
		if (!holds) {
			this.simulator.fail(rule);
		}
	}

}
