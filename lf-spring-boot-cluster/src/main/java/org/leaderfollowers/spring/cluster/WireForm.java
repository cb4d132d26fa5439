package org.leaderfollowers.spring.cluster;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.cluster.NodeMessage.Broadcast;
import org.leaderfollowers.spring.cluster.NodeMessage.Exchange;
import org.leaderfollowers.spring.cluster.NodeMessage.Reply;
import org.leaderfollowers.spring.cluster.NodeMessage.Send;
import org.leaderfollowers.spring.cluster.NodeMessage.TakenOver;
import org.leaderfollowers.spring.session.SessionEntry;

/**
 * What nodes exchange and share, as bytes. All integers are big-endian, and text is UTF-8
 * with a length of two bytes, as {@link DataOutputStream} writes it.
 * <p>
 * During a rolling upgrade, nodes of two versions work together. The rules:
 * <ul>
 * <li>The first byte is the format. It changes only if older nodes could not understand
 * the rest.</li>
 * <li>New fields are appended, and readers ignore what follows the fields that they
 * know.</li>
 * <li>Format, kind, sender and id of a message never change their places, so that a node
 * can always answer that it does not understand.</li>
 * </ul>
 */
final class WireForm {

	static final byte FORMAT = 1;

	/**
	 * An epoch of the year 2100, in microseconds. A later one is damaged: the next epochs
	 * of a node would be higher still, until the time that has such a number overflows.
	 */
	static final long LATEST_EPOCH = 4_102_444_800_000_000L;

	private WireForm() {
	}

	// Entries

	static byte[] of(SessionEntry entry) {
		return write((out) -> {
			out.writeByte(FORMAT);
			write(entry, out);
		});
	}

	/**
	 * Reads an entry.
	 * @throws UnsupportedFormatException if a newer version has written it
	 */
	static SessionEntry entry(byte[] bytes) {
		return read(bytes, (in) -> {
			requireFormat(in.readByte());
			return readEntry(in);
		});
	}

	private static void write(SessionEntry entry, DataOutputStream out) throws IOException {
		out.writeUTF(entry.name());
		out.writeUTF(entry.node());
		out.writeUTF(entry.server());
		out.writeLong(entry.epoch());
		out.writeLong(entry.since().toEpochMilli());
		out.writeInt(entry.takeovers());
		out.writeLong(entry.takeoversSince().toEpochMilli());
	}

	private static SessionEntry readEntry(DataInputStream in) throws IOException {
		SessionEntry entry = new SessionEntry(in.readUTF(), readNode(in), in.readUTF(), in.readLong(),
				Instant.ofEpochMilli(in.readLong()), in.readInt(), Instant.ofEpochMilli(in.readLong()));
		if (entry.epoch() > LATEST_EPOCH) {
			throw new IOException("The epoch %d is too late".formatted(entry.epoch()));
		}
		return entry;
	}

	// Nodes

	/** Describes this node to others: how many sessions it holds. */
	static byte[] ofNode(int sessions) {
		return write((out) -> {
			out.writeByte(FORMAT);
			out.writeInt(sessions);
		});
	}

	/**
	 * Returns 0 if the description is damaged or of a newer version. It must not prevent
	 * this node from seeing the others.
	 */
	static int sessionsOfNode(byte[] bytes) {
		boolean isKnown = bytes.length >= 1 + Integer.BYTES && bytes[0] == FORMAT;
		return isKnown ? Math.max(0, ByteBuffer.wrap(bytes).getInt(1)) : 0;
	}

	// Messages

	static byte[] of(NodeMessage message) {
		return write((out) -> {
			out.writeByte(FORMAT);
			out.writeByte(message.kind().ordinal());
			out.writeUTF(message.sender());
			out.writeLong(message.id());
			out.writeLong(message.deadline());
			if (message instanceof Send send) {
				out.writeUTF(send.name());
				out.writeLong(send.epoch());
				writeBytes(send.payload(), out);
			}
			else if (message instanceof Exchange exchange) {
				out.writeUTF(exchange.name());
				out.writeLong(exchange.epoch());
				writeBytes(exchange.payload(), out);
			}
			else if (message instanceof Broadcast broadcast) {
				out.writeBoolean(broadcast.group() != null);
				out.writeUTF((broadcast.group() != null) ? broadcast.group() : "");
				out.writeByte(broadcast.messages().size());
				for (Map.Entry<Charset, ByteBuffer> one : broadcast.messages().entrySet()) {
					out.writeUTF(one.getKey().name());
					writeBytes(one.getValue(), out);
				}
			}
			else if (message instanceof TakenOver takenOver) {
				write(takenOver.successor(), out);
			}
			else if (message instanceof Reply reply) {
				out.writeByte(reply.outcome().ordinal());
				writeBytes(ByteBuffer.wrap(reply.detail().getBytes(StandardCharsets.UTF_8)), out);
				writeBytes(reply.payload(), out);
			}
		});
	}

	/**
	 * Reads a message.
	 * @return a message, or {@link NodeMessage.Unknown} if a newer version has written it
	 */
	static NodeMessage message(byte[] bytes) {
		return read(bytes, (in) -> {
			byte format = in.readByte();
			int kind = in.readUnsignedByte();
			String sender = readNode(in);
			long id = in.readLong();
			if (format != FORMAT || kind >= NodeMessage.Kind.values().length) {
				// Only a request has a number and is no reply; a reply to a reply could
				// be
				// taken for one to another request.
				return new NodeMessage.Unknown(sender, id, id != 0 && kind != NodeMessage.Kind.REPLY.ordinal());
			}
			long deadline = in.readLong();
			return switch (NodeMessage.Kind.values()[kind]) {
				case SEND -> new Send(sender, id, deadline, in.readUTF(), in.readLong(), readBytes(in));
				case EXCHANGE -> new Exchange(sender, id, deadline, in.readUTF(), in.readLong(), readBytes(in));
				case BROADCAST -> readBroadcast(sender, id, deadline, in);
				case TAKEN_OVER -> new TakenOver(sender, id, deadline, readEntry(in));
				case REPLY -> readReply(sender, id, deadline, in);
			};
		});
	}

	/** Reads the identifier of a node, which the log shows as it is. */
	private static String readNode(DataInputStream in) throws IOException {
		String node = in.readUTF();
		if (!isNode(node)) {
			throw new IOException("The identifier of a node is not printable ASCII");
		}
		return node;
	}

	/** Whether this may be the identifier of a node: printable ASCII without spaces. */
	static boolean isNode(String id) {
		return id.chars().allMatch((character) -> character >= '!' && character <= '~');
	}

	private static Broadcast readBroadcast(String sender, long id, long deadline, DataInputStream in)
			throws IOException {
		boolean isGroup = in.readBoolean();
		String group = in.readUTF();
		Map<Charset, ByteBuffer> messages = new LinkedHashMap<>();
		for (int left = in.readUnsignedByte(); left > 0; left--) {
			messages.put(Charset.forName(in.readUTF()), readBytes(in));
		}
		return new Broadcast(sender, id, deadline, isGroup ? group : null, messages);
	}

	private static Reply readReply(String sender, long id, long deadline, DataInputStream in) throws IOException {
		int outcome = in.readUnsignedByte();
		String detail = StandardCharsets.UTF_8.decode(readBytes(in)).toString();
		ByteBuffer payload = readBytes(in);
		Reply.Outcome[] known = Reply.Outcome.values();
		return new Reply(sender, id, deadline, (outcome < known.length) ? known[outcome] : Reply.Outcome.LOST, detail,
				payload);
	}

	private static void writeBytes(ByteBuffer bytes, DataOutputStream out) throws IOException {
		byte[] copy = new byte[bytes.remaining()];
		bytes.get(bytes.position(), copy);
		out.writeInt(copy.length);
		out.write(copy);
	}

	private static ByteBuffer readBytes(DataInputStream in) throws IOException {
		int length = in.readInt();
		if (length < 0 || length > in.available()) {
			throw new IOException("A length of %d bytes, but %d follow".formatted(length, in.available()));
		}
		return ByteBuffer.wrap(in.readNBytes(length));
	}

	private static void requireFormat(byte format) {
		if (format != FORMAT) {
			throw new UnsupportedFormatException(format);
		}
	}

	private static byte[] write(Output output) {
		ByteArrayOutputStream bytes = new ByteArrayOutputStream(256);
		try {
			output.write(new DataOutputStream(bytes));
			return bytes.toByteArray();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static <T> T read(byte[] bytes, Input<T> input) {
		try {
			return input.read(new DataInputStream(new ByteArrayInputStream(bytes)));
		}
		catch (IOException ex) {
			throw damaged(bytes, ex);
		}
		catch (IllegalArgumentException ex) {
			// Without its message, which may repeat the bytes.
			throw damaged(bytes, new IOException("A value is not allowed: " + ex.getClass().getSimpleName()));
		}
	}

	private static UncheckedIOException damaged(byte[] bytes, IOException cause) {
		return new UncheckedIOException("%d bytes of another node are damaged".formatted(bytes.length), cause);
	}

	private interface Output {

		void write(DataOutputStream out) throws IOException;

	}

	private interface Input<T> {

		T read(DataInputStream in) throws IOException;

	}

	/** A newer version has written something that this version cannot read. */
	@SuppressWarnings("serial")
	static final class UnsupportedFormatException extends IllegalStateException {

		private UnsupportedFormatException(byte format) {
			super("A node of a newer version uses format %d, but this one knows only %d: complete the upgrade of all nodes"
				.formatted(format, FORMAT));
		}

	}

	/** For callers that may have no value. */
	static @Nullable SessionEntry entryOrNull(String name, byte @Nullable [] bytes) {
		if (bytes == null) {
			return null;
		}
		SessionEntry entry = entry(bytes);
		if (!entry.name().equals(name)) {
			throw damaged(bytes, new IOException("This is the entry of another session"));
		}
		return entry;
	}

	/**
	 * For callers that replace the value: a damaged one counts as none.
	 * @throws UnsupportedFormatException if a newer version has written it
	 */
	static @Nullable SessionEntry intactOrNull(String name, byte @Nullable [] bytes) {
		try {
			return entryOrNull(name, bytes);
		}
		catch (UncheckedIOException ex) {
			return null;
		}
	}

}
