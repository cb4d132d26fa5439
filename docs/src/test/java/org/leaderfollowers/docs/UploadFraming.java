package org.leaderfollowers.docs;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

import org.leaderfollowers.Connection;
import org.leaderfollowers.Framing;
import org.leaderfollowers.FramingException;

// tag::framing[]
public class UploadFraming implements Framing {

	private static final int LARGE = 1000;

	private final Framing lines = Framing.line();

	@Override
	public Framing forConnection(Connection connection) {
		return new OfConnection(connection);
	}

	@Override
	public boolean decode(ByteBuffer input, Frame frame) {
		return this.lines.decode(input, frame);
	}

	@Override
	public void encode(ByteBuffer payload, ByteBuffer output) {
		this.lines.encode(payload, output);
	}

	@Override
	public int maxFrameLength(int payloadLength) {
		return this.lines.maxFrameLength(payloadLength);
	}

	private final class OfConnection extends UploadFraming {

		private final Connection connection;

		private long bodyLeft;

		OfConnection(Connection connection) {
			this.connection = connection;
		}

		@Override
		public boolean decode(ByteBuffer input, Frame frame) {
			if (this.bodyLeft > 0) {
				int part = (int) Math.min(this.bodyLeft, Math.min(input.remaining(), frame.maxMessageSize()));
				this.bodyLeft -= part;
				return frame.complete(0, part, part);
			}
			boolean complete = UploadFraming.this.decode(input, frame);
			if (complete) {
				byte[] line = new byte[frame.payloadLength()];
				input.get(input.position() + frame.payloadOffset(), line);
				this.bodyLeft = length(new String(line, StandardCharsets.US_ASCII));
				if (this.bodyLeft > LARGE) {
					this.connection.send(ByteBuffer.wrap("continue".getBytes(StandardCharsets.US_ASCII)));
				}
			}
			return complete;
		}

		private static long length(String line) {
			try {
				return Math.max(0, Long.parseLong(line));
			}
			catch (NumberFormatException ex) {
				throw new FramingException("An upload must begin with the length of its body");
			}
		}

	}

}
// end::framing[]
