package org.leaderfollowers.internal.buffer;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.nio.charset.StandardCharsets;

import org.leaderfollowers.internal.buffer.OutboundBuffer.Sent;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.L_Result;

/**
 * Races between an owner that holds its replies back and threads that write the replies
 * for it.
 */
public class OutboundBufferStress {

	/**
	 * Another thread takes over while replies are held back, and the socket takes
	 * everything.
	 */
	@JCStressTest
	@State
	@Outcome(id = "abc", expect = Expect.ACCEPTABLE, desc = "all of it, once, in order")
	@Outcome(expect = Expect.FORBIDDEN, desc = "something is lost, or written twice, or out of order")
	public static class HoldAndRelease extends Replies {

		public HoldAndRelease() {
			super(Integer.MAX_VALUE);
		}

		@Actor
		public void owner() {
			reply('a');
			reply('b');
			reply('c');
			release();
		}

		@Actor
		public void successor() {
			release();
		}

		@Arbiter
		public void outcome(L_Result result) {
			result.r1 = written();
		}

	}

	/**
	 * Another thread takes over while replies are held back, and the socket is full after
	 * the first byte.
	 */
	@JCStressTest
	@State
	@Outcome(id = "abc", expect = Expect.ACCEPTABLE, desc = "all of it, once, in order")
	@Outcome(expect = Expect.FORBIDDEN, desc = "something is lost, or written twice, or out of order")
	public static class HoldAndReleaseToAFullSocket extends Replies {

		public HoldAndReleaseToAFullSocket() {
			super(1);
		}

		@Actor
		public void owner() {
			reply('a');
			reply('b');
			reply('c');
			release();
		}

		@Actor
		public void successor() {
			release();
		}

		@Arbiter
		public void outcome(L_Result result) {
			flush();
			result.r1 = written();
		}

	}

	/**
	 * Another thread sends on the same connection while replies are held back.
	 */
	@JCStressTest
	@State
	@Outcome(id = { "xab", "axb", "abx" }, expect = Expect.ACCEPTABLE, desc = "the replies in order, what came between")
	@Outcome(expect = Expect.FORBIDDEN, desc = "something is lost, or written twice, or out of order")
	public static class HoldAndSend extends Replies {

		public HoldAndSend() {
			super(Integer.MAX_VALUE);
		}

		@Actor
		public void owner() {
			reply('a');
			reply('b');
			release();
		}

		@Actor
		public void sender() {
			send(ByteBuffer.wrap(new byte[] { 'x' }));
		}

		@Arbiter
		public void outcome(L_Result result) {
			result.r1 = written();
		}

	}

	/**
	 * A connection whose owner gathers replies, and a socket that records what is written
	 * to it.
	 */
	public static class Replies implements WritableByteChannel {

		private final OutboundBuffer outbound = new OutboundBuffer(new MemoryBudget(1024));

		private int room;

		private final ByteBuffer gathered = ByteBuffer.allocate(8);

		/** The same memory, for the thread that writes it. */
		private final ByteBuffer view = this.gathered.duplicate();

		private final ByteBuffer socket = ByteBuffer.allocate(8);

		Replies(int room) {
			this.room = room;
		}

		/** As the engine does it. */
		final void reply(char reply) {
			int start = this.gathered.position();
			this.gathered.put((byte) reply);
			if (this.outbound.cork(this.view, start, start + 1) == Sent.REFUSED) {
				send(this.view.limit(start + 1).position(start));
			}
		}

		final void send(ByteBuffer frame) {
			try {
				this.outbound.send(this, frame, Long.MAX_VALUE, null);
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		}

		final void release() {
			try {
				this.outbound.uncork(this);
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		}

		/** The peer has read everything. */
		final void flush() {
			try {
				this.room = Integer.MAX_VALUE;
				this.outbound.flush(this, Long.MAX_VALUE);
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		}

		/** Only called under the monitor of the {@link OutboundBuffer}. */
		@Override
		public int write(ByteBuffer source) {
			int count = Math.min(this.room, source.remaining());
			for (int i = 0; i < count; i++) {
				this.socket.put(source.get());
			}
			this.room -= count;
			return count;
		}

		final String written() {
			return new String(this.socket.array(), 0, this.socket.position(), StandardCharsets.ISO_8859_1);
		}

		@Override
		public boolean isOpen() {
			return true;
		}

		@Override
		public void close() {
			// nothing to close
		}

	}

}
