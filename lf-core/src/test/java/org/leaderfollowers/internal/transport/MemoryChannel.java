package org.leaderfollowers.internal.transport;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.spi.SelectorProvider;

import org.leaderfollowers.UnconnectedChannel;

/**
 * A channel without a socket: a test passes the bytes on, and limits the room for them.
 */
final class MemoryChannel extends UnconnectedChannel {

	private ByteBuffer input = ByteBuffer.allocate(0);

	private boolean ended;

	private ByteArrayOutputStream output = new ByteArrayOutputStream();

	/** How many more bytes can be written. */
	int room;

	/** How often it was read. */
	int reads;

	/** What the next write throws, or {@code null}. */
	IOException failure;

	MemoryChannel() {
		super(SelectorProvider.provider());
	}

	/** Adds bytes that the peer has sent. */
	void receive(byte[] bytes) {
		ByteBuffer all = ByteBuffer.allocate(this.input.remaining() + bytes.length);
		this.input = all.put(this.input).put(bytes).flip();
	}

	/** Ends the input behind the bytes that were received. */
	void endInput() {
		this.ended = true;
	}

	/** Whether everything was read that comes before the end. */
	boolean hasEnded() {
		return this.ended && !this.input.hasRemaining();
	}

	/** Takes the bytes that were written. */
	byte[] takeOutput() {
		byte[] bytes = this.output.toByteArray();
		this.output.reset();
		return bytes;
	}

	@Override
	public int read(ByteBuffer target) {
		this.reads++;
		if (!this.input.hasRemaining()) {
			return this.ended ? -1 : 0;
		}
		int count = Math.min(this.input.remaining(), target.remaining());
		target.put(this.input.slice(this.input.position(), count));
		this.input.position(this.input.position() + count);
		return count;
	}

	@Override
	public int write(ByteBuffer source) throws IOException {
		IOException next = this.failure;
		this.failure = null;
		if (next != null) {
			throw next;
		}
		int count = Math.min(this.room, source.remaining());
		for (int i = 0; i < count; i++) {
			this.output.write(source.get());
		}
		this.room -= count;
		return count;
	}

}
