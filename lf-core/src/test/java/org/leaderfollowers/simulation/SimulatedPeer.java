package org.leaderfollowers.simulation;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * A client without a thread. It sends requests, several at a time if it pipelines, and
 * checks that the replies arrive once each and in order. Depending on the seed it reads
 * slowly, half-closes, or resets the connection.
 * <p>
 * A request is an action of the handler, its number and padding; the reply repeats the
 * number. Its framing is a length, a delimiter, or a fixed length. The handler may ask
 * for something ({@link #QUESTION}) before it replies, which the client answers
 * ({@link #ANSWER}), as soon as it has sent the request that it is about to send. A
 * client behind a proxy begins with the header of the PROXY protocol. With TLS, all that
 * follows is in the records of a {@link SimulatedTlsStream}.
 */
public final class SimulatedPeer {

	/** The length of each message with the framing of a fixed length. */
	public static final int FIXED_LENGTH = 16;

	/** The first character of a request that the engine sends to the client. */
	public static final char QUESTION = 'Q';

	/** The first character of the reply to it. */
	public static final char ANSWER = 'A';

	/** The first character of a part of a reply that is followed by the rest. */
	public static final char PART = 'P';

	/** The action whose handler asks a question. */
	public static final char ASKS = 'q';

	/** The action of a message that is larger than messages may be. */
	public static final char TOO_LARGE = 'z';

	/** The first character of the reply to it, which does not know its number. */
	public static final char SKIPPED = 'Z';

	private static final int TOO_LARGE_LENGTH = 4001;

	/** How messages are framed. */
	public enum Frames {

		/** Two bytes with the length. */
		LENGTH,

		/** A line feed at the end. */
		LINE,

		/** Always {@value SimulatedPeer#FIXED_LENGTH} bytes. */
		FIXED

	}

	/** When a client stops to send, and waits for the engine to close the connection. */
	private enum Silence {

		NEVER,

		/** When every request is answered. */
		AT_END,

		/** Within a message. */
		IN_MESSAGE

	}

	/**
	 * The TLS of a client.
	 *
	 * @param context creates its end of TLS
	 * @param mayOffend whether it may violate the protocol
	 * @param endsEarly whether it may send the closing alert of a version before TLS 1.3
	 * although it waits for replies. A handler that replies after reading it is too late
	 */
	public record Tls(SimulatedTlsContext context, boolean mayOffend, boolean endsEarly) {
	}

	private final Simulator simulator;

	private final SimulatedSocket socket;

	private final @Nullable SimulatedTlsStream tls;

	private final Frames frames;

	private final String actions;

	private final int pipeline;

	private final int slowNanos;

	/** How long it thinks between two requests, at most. */
	private final int thinkNanos;

	private final int resetsAfter;

	private final boolean halfCloses;

	/** Whether it ends its output only when it has all replies. */
	private final boolean endsLate;

	private final Silence silence;

	/** Where each request ends in the stream of bytes. */
	private final List<Long> ends = new ArrayList<>();

	private long framedBytes;

	private final ByteArrayOutputStream received = new ByteArrayOutputStream();

	private final Deque<ByteBuffer> answers = new ArrayDeque<>();

	private ByteBuffer unsent = ByteBuffer.allocate(0);

	/** Whether what is not sent is a request. */
	private boolean sendsRequest;

	private int begun;

	private int sent;

	private int replies;

	private boolean partSent;

	private boolean outputEnded;

	private boolean finished;

	/** How the engine ended the connection, or {@code null}. */
	private @Nullable String ending;

	private boolean reset;

	private boolean pumpIsDue;

	private long nextRequestNanos;

	private boolean thinks;

	/** When bytes were last received or sent. */
	private long progressNanos;

	private final long beganNanos;

	private long durationNanos;

	/** When it began to send each request. */
	private final List<Long> begins = new ArrayList<>();

	private long requestNanos;

	/**
	 * Creates a client and connects it.
	 * @param actions the actions of its requests
	 * @param proxied whether it is behind a proxy
	 */
	public SimulatedPeer(Simulator simulator, int port, Frames frames, String actions, boolean proxied) {
		this(simulator, port, frames, actions, proxied, null);
	}

	/**
	 * Creates a client, perhaps with TLS, and connects it.
	 * @param actions the actions of its requests
	 * @param proxied whether it is behind a proxy
	 * @param tls its TLS, or {@code null} for none
	 */
	public SimulatedPeer(Simulator simulator, int port, Frames frames, String actions, boolean proxied,
			@Nullable Tls tls) {
		this.simulator = simulator;
		this.socket = new SimulatedSocket(simulator.network(), simulator.network().nextPort());
		this.frames = frames;
		this.actions = actions;
		this.pipeline = 1 + simulator.choose(simulator.choose(3) * 3 + 1);
		this.slowNanos = (simulator.choose(4) == 0) ? 1 + simulator.choose(20_000_000) : 20_000;
		this.thinkNanos = (simulator.choose(6) == 0) ? 200_000_000 : 0;
		this.resetsAfter = simulator.chance(60) ? simulator.choose(actions.length() + 1) : -1;
		boolean answers = actions.indexOf(ASKS) >= 0;
		this.halfCloses = simulator.choose(3) == 0;
		this.silence = simulator.chance(80) ? Silence.values()[1 + simulator.choose(answers ? 1 : 2)] : Silence.NEVER;
		this.progressNanos = simulator.nanoTime();
		this.beganNanos = this.progressNanos;
		if (proxied) {
			simulator.network().comesFromProxy(port());
		}
		byte[] preamble = (proxied ? "PROXY TCP4 192.0.2.1 10.0.0.1 %d %d\r\n".formatted(port(), port) : "")
			.getBytes(StandardCharsets.US_ASCII);
		this.endsLate = tls != null && !tls.context().isTls13() && !tls.endsEarly();
		if (tls != null) {
			this.tls = new SimulatedTlsStream(simulator, this.socket, tls, preamble);
		}
		else {
			this.tls = null;
			this.unsent = ByteBuffer.wrap(preamble);
			this.framedBytes = preamble.length;
		}
		this.socket.onChange(this::soon);
		simulator.network().connect(this.socket, port);
	}

	/** Returns the text of a message with a number, as the engine sees it. */
	public static ByteBuffer message(Simulator simulator, Frames frames, char action, int number) {
		StringBuilder text = new StringBuilder().append(action).append(number).append(' ');
		int length = (frames == Frames.FIXED) ? FIXED_LENGTH
				: Math.max(text.length(), simulator.choose((simulator.choose(10) == 0) ? 3000 : 40));
		if (action == TOO_LARGE) {
			length = TOO_LARGE_LENGTH + simulator.choose(3000);
		}
		while (text.length() < length) {
			text.append('.');
		}
		return ByteBuffer.wrap(text.toString().getBytes(StandardCharsets.US_ASCII));
	}

	/** Returns the number of a message. */
	public static int number(ByteBuffer message) {
		int number = 0;
		for (int i = message.position() + 1; message.get(i) != ' '; i++) {
			number = number * 10 + message.get(i) - '0';
		}
		return number;
	}

	/** Returns the port, which identifies the connection. */
	public int port() {
		return this.socket.port();
	}

	/** Whether nothing is left to do. */
	public boolean isFinished() {
		return this.finished;
	}

	/** Whether every request got its reply. */
	public boolean isAnswered() {
		return this.replies == this.actions.length();
	}

	/** Whether it has reset the connection itself. */
	public boolean hasReset() {
		return this.reset;
	}

	/** Whether the engine has to close the connection. */
	public boolean fallsSilent() {
		return this.silence != Silence.NEVER;
	}

	/**
	 * Whether its records are so small that a message may take longer than the timeout.
	 */
	public boolean sendsSlowly() {
		return this.tls != null && this.tls.sendsSlowly();
	}

	/** Whether it has violated the rules of TLS, so that the engine may close. */
	public boolean offends() {
		return this.tls != null && this.tls.offends();
	}

	/** Whether the engine has ended the connection without the closing alert of TLS. */
	public boolean isCutOff() {
		return this.tls != null && this.tls.isCutOff();
	}

	/** How long it lasted. 0 until it has ended. */
	public long durationNanos() {
		return this.durationNanos;
	}

	/**
	 * How long its first request that was not sent or not replied to had lasted when it
	 * ended. 0 if there was none.
	 */
	public long requestNanos() {
		return this.requestNanos;
	}

	/** Whether the connection was established. */
	public boolean wasConnected() {
		return this.socket.isConnected();
	}

	/** Returns how the connection was ended by the engine, or {@code null}. */
	public @Nullable String ending() {
		return this.ending;
	}

	/** Returns the number of replies. */
	public int replies() {
		return this.replies;
	}

	/**
	 * Returns how many requests had arrived as a whole when the server determined what it
	 * had received because it drains the connection, or -1 if it did not.
	 */
	public long arrivedBeforeDrain() {
		long arrived = this.socket.arrivedAtOtherWhenAsked();
		long bytes = (this.tls != null && arrived >= 0) ? this.tls.dataWithin(arrived) : arrived;
		return (bytes >= 0) ? this.ends.stream().filter((end) -> end <= bytes).count() : -1;
	}

	/** Returns the actions that were sent in full and not answered. */
	public String unanswered() {
		return this.actions.substring(this.replies, Math.max(this.replies, this.sent));
	}

	/**
	 * Requires that the engine always goes on within a time: a wake-up that is lost shows
	 * here, although a later event may put it right.
	 * @param patienceNanos how long it may do nothing
	 */
	public void expectProgress(long patienceNanos) {
		this.simulator.at(this.simulator.nanoTime() + patienceNanos / 4, "watch " + port(), () -> {
			if (!this.finished) {
				long idle = this.simulator.nanoTime() - this.progressNanos;
				if (idle > patienceNanos && !(fallsSilent() && isAnswered())) {
					this.simulator.fail("nothing happens for %d ms: %s%s".formatted(idle / 1_000_000, this,
							this.simulator.describeThreads()));
				}
				expectProgress(patienceNanos);
			}
		});
	}

	private void progress() {
		this.progressNanos = this.simulator.nanoTime();
	}

	private void soon() {
		if (!this.pumpIsDue && !this.finished) {
			this.pumpIsDue = true;
			this.simulator.at(this.simulator.nanoTime() + this.simulator.choose(this.slowNanos), "peer " + port(),
					this::pump);
		}
	}

	private void pump() {
		this.pumpIsDue = false;
		if (this.finished) {
			return;
		}
		if (this.socket.isRefused()) {
			end("refused");
			return;
		}
		if (!this.socket.isConnected()) {
			return;
		}
		try {
			receive();
			if (this.finished) {
				return;
			}
			if (this.replies == this.resetsAfter && this.begun > 0) {
				this.reset = true;
				this.simulator.note("peer " + port() + " resets");
				this.socket.abort();
				this.finished = true;
				return;
			}
			send();
		}
		catch (IOException ex) {
			end(String.valueOf(ex.getMessage()));
		}
	}

	private void end(String how) {
		if (!isAnswered() || fallsSilent()) {
			this.ending = how;
		}
		this.simulator.note("peer " + port() + " ends: " + how + ", " + this.replies + " of " + this.sent);
		this.finished = true;
		long now = this.simulator.nanoTime();
		this.durationNanos = now - this.beganNanos;
		int first = Math.min(this.replies, this.sent);
		if (first > 0 && this.actions.charAt(first - 1) == TOO_LARGE) {
			// Its end may not have arrived, although its reply has come.
			first--;
		}
		this.requestNanos = (first < this.begins.size()) ? now - this.begins.get(first) : 0;
		if (this.tls != null) {
			this.tls.close();
		}
		this.socket.close();
	}

	private int write(ByteBuffer source) throws IOException {
		return (this.tls != null) ? this.tls.write(source) : this.socket.write(source);
	}

	private void send() throws IOException {
		if (this.tls != null) {
			this.tls.flush();
		}
		boolean progress = true;
		while (progress) {
			if (!this.unsent.hasRemaining() && !this.answers.isEmpty()) {
				this.unsent = this.answers.remove();
				this.framedBytes += this.unsent.remaining();
				this.sendsRequest = false;
			}
			else if (!this.unsent.hasRemaining() && this.begun < this.actions.length()
					&& this.begun - this.replies < this.pipeline && !isThinking()) {
				ByteBuffer message = message(this.simulator, this.frames, this.actions.charAt(this.begun), this.begun);
				this.begun++;
				this.begins.add(this.simulator.nanoTime());
				this.sendsRequest = true;
				this.nextRequestNanos = this.simulator.nanoTime()
						+ ((this.thinkNanos > 0) ? this.simulator.choose(this.thinkNanos) : 0);
				this.unsent = framed(message);
				this.framedBytes += this.unsent.remaining();
				this.ends.add(this.framedBytes);
			}
			progress = this.unsent.hasRemaining() && write(this.unsent) > 0;
			if (progress) {
				progress();
			}
			this.sent = (this.sendsRequest && this.unsent.hasRemaining()) ? this.begun - 1 : this.begun;
		}
		if (this.silence == Silence.IN_MESSAGE && this.sent == this.actions.length() && !this.partSent) {
			ByteBuffer message = framed(message(this.simulator, this.frames, 'r', this.sent));
			this.partSent = write(message.limit(2)) > 0;
		}
		else if (this.halfCloses && this.sent == this.actions.length() && !this.unsent.hasRemaining() && !fallsSilent()
				&& (!this.endsLate || isAnswered())) {
			this.outputEnded = true;
			if (this.tls != null) {
				this.tls.shutdownOutput();
			}
			else {
				this.socket.shutdownOutput();
			}
		}
	}

	private boolean isThinking() {
		boolean waits = this.simulator.nanoTime() < this.nextRequestNanos;
		if (waits && !this.thinks) {
			this.thinks = true;
			this.simulator.at(this.nextRequestNanos, "peer " + port() + " has thought", () -> {
				this.thinks = false;
				soon();
			});
		}
		return waits;
	}

	private ByteBuffer framed(ByteBuffer message) {
		int length = message.remaining();
		ByteBuffer framed = ByteBuffer.allocate(length + 2);
		if (this.frames == Frames.LENGTH) {
			framed.putShort((short) length);
		}
		framed.put(message);
		if (this.frames == Frames.LINE) {
			framed.put((byte) '\n');
		}
		return framed.flip();
	}

	private void receive() throws IOException {
		ByteBuffer input = ByteBuffer.allocate(1 + this.simulator.choose(4096));
		int count = (this.tls != null) ? this.tls.read(input) : this.socket.read(input);
		boolean moved = this.tls != null && this.tls.takeMoved();
		if (count > 0 || moved) {
			progress();
			this.received.write(input.array(), 0, Math.max(0, count));
			decode();
			if ((this.tls != null) ? this.tls.isReadable() : this.socket.isReadable()) {
				soon();
			}
		}
		boolean isAtEnd = (this.tls != null) ? this.tls.isAtEnd() : this.socket.isAtEnd();
		if (isAnswered() && !fallsSilent() && (!this.halfCloses || isAtEnd)) {
			end("done");
		}
		else if (count < 0) {
			end("end of the input");
		}
	}

	private void decode() {
		byte[] bytes = this.received.toByteArray();
		int from = 0;
		for (;;) {
			int begin = from + ((this.frames == Frames.LENGTH) ? 2 : 0);
			int end = switch (this.frames) {
				case LENGTH -> (bytes.length >= begin) ? begin + ((bytes[from] & 0xff) << 8 | (bytes[from + 1] & 0xff))
						: Integer.MAX_VALUE;
				case LINE -> indexOf(bytes, from);
				case FIXED -> from + FIXED_LENGTH;
			};
			if (end > bytes.length) {
				break;
			}
			check(ByteBuffer.wrap(bytes, begin, end - begin));
			from = end + ((this.frames == Frames.LINE) ? 1 : 0);
		}
		this.received.reset();
		byte[] rest = Arrays.copyOfRange(bytes, Math.min(from, bytes.length), bytes.length);
		this.received.write(rest, 0, rest.length);
	}

	private static int indexOf(byte[] bytes, int from) {
		for (int i = from; i < bytes.length; i++) {
			if (bytes[i] == '\n') {
				return i;
			}
		}
		return Integer.MAX_VALUE;
	}

	private void check(ByteBuffer reply) {
		int number = number(reply);
		if (reply.get(reply.position()) == QUESTION) {
			answer(number);
			return;
		}
		// Such a message may be skipped before its end has been sent.
		boolean tooLarge = this.replies < this.begun && this.actions.charAt(this.replies) == TOO_LARGE;
		if (tooLarge != (reply.get(reply.position()) == SKIPPED)) {
			this.simulator.fail("peer %d got the wrong reply to request %d".formatted(port(), this.replies));
		}
		if (!tooLarge && number != this.replies) {
			this.simulator.fail("peer %d got reply %d instead of reply %d".formatted(port(), number, this.replies));
		}
		if (!tooLarge && this.replies >= this.sent) {
			this.simulator.fail("peer %d got reply %d to a request that it has not sent".formatted(port(), number));
		}
		if (reply.get(reply.position()) != PART) {
			this.replies++;
			this.simulator.count(Counted.REPLIES);
		}
	}

	/** Answers a question, but sometimes not, and not after the end of its output. */
	private void answer(int number) {
		if (number < this.replies || number >= this.sent) {
			this.simulator
				.fail("peer %d is asked for request %d, which is not being handled".formatted(port(), number));
		}
		if (!this.outputEnded && !this.simulator.chance(30)) {
			this.answers.add(framed(message(this.simulator, this.frames, ANSWER, number)));
			soon();
		}
	}

	@Override
	public String toString() {
		return "peer %d (%s, %s): %d sent, %d replies%s%s, %s".formatted(port(), this.actions, this.frames, this.sent,
				this.replies, this.finished ? ", finished" : "", (this.ending != null) ? ", " + this.ending : "",
				this.socket);
	}

}
