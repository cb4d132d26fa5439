package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.ToLongFunction;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.exchange.ExchangeTable;
import org.leaderfollowers.internal.exchange.ExchangeTable.Registration;
import org.leaderfollowers.internal.exchange.KeyedExchanges;
import org.leaderfollowers.internal.exchange.OrderedExchanges;

/**
 * Finds the request that a message of the peer replies to.
 * <p>
 * Functions receive payloads, without their framing, from position to limit. They must
 * not change the bytes, and must not keep the buffers; changes of position and limit are
 * undone. Several threads may call them at the same time. They should not block: if all
 * threads of the pool wait for replies, one of them leads and calls them without a lease.
 */
public abstract sealed class Correlation {

	private Correlation() {
	}

	/**
	 * Replies come in the order of the requests, as those of Redis, SMTP and most line
	 * protocols do. Requests are pipelined. A reply does not identify its request, so a
	 * request that times out closes the connection: otherwise the next reply would be
	 * matched with the wrong request. A message that is sent by {@link Connection#send}
	 * counts as a request, and its reply goes to the handler of the client.
	 * @return replies in order
	 */
	public static Correlation inOrder() {
		return InOrder.INSTANCE;
	}

	/**
	 * The request and its reply contain the same key.
	 * @param key finds the key; {@code null} for a message of the peer that is not a
	 * reply. Keys are compared by {@code equals}
	 * @return replies by key
	 */
	public static Correlation byKey(Function<ByteBuffer, ? extends @Nullable Object> key) {
		return byKey(key, key);
	}

	/**
	 * The request and its reply contain the same key, at different places.
	 * @param ofRequest finds the key of a request, which must have one
	 * @param ofReply finds the key of a message of the peer; {@code null} if it is not a
	 * reply
	 * @return replies by key
	 */
	public static Correlation byKey(Function<ByteBuffer, ?> ofRequest,
			Function<ByteBuffer, ? extends @Nullable Object> ofReply) {
		return new Keyed(Objects.requireNonNull(ofRequest, "'ofRequest' must not be null"),
				Objects.requireNonNull(ofReply, "'ofReply' must not be null"));
	}

	/**
	 * The client writes a number into a field of each request, an unsigned integer in
	 * network order, and the peer returns it in the same field of the reply. Examples are
	 * the transaction identifier of Modbus (0, 2) and the identifier of DNS (0, 2). In
	 * the reply, the client restores the caller's bytes of this field.
	 * @param offset the offset of the field in the payload, from 0
	 * @param length the length of the field in bytes, from 1 to 8
	 * @return replies by number
	 */
	public static Correlation stamped(int offset, int length) {
		Arguments.inRange("offset", offset, 0, Integer.MAX_VALUE - Long.BYTES);
		Arguments.inRange("length", length, 1, Long.BYTES);
		long largest = (length == Long.BYTES) ? Long.MAX_VALUE : (1L << (Byte.SIZE * length)) - 1;
		Stamp stamp = (request, number) -> {
			for (int i = 0; i < length; i++) {
				request.put(request.position() + offset + i, (byte) (number >>> (Byte.SIZE * (length - 1 - i))));
			}
		};
		return new Stamped(largest, stamp, (reply) -> {
			long number = -1;
			if (reply.remaining() >= offset + length) {
				number = 0;
				for (int i = 0; i < length; i++) {
					number = (number << Byte.SIZE) | (reply.get(reply.position() + offset + i) & 0xff);
				}
			}
			return number;
		}, offset, length);
	}

	private static void checkField(ByteBuffer request, int offset, int length) {
		if (request.remaining() < offset + length) {
			throw new IllegalArgumentException(
					"A request of %d bytes has no room for the number of the exchange, %d bytes at offset %d"
						.formatted(request.remaining(), length, offset));
		}
	}

	/**
	 * The client writes a number into each request, and the peer returns it in the reply.
	 * @param largest the largest number that fits into the message; numbers are used in
	 * turn
	 * @param stamp writes a number into a copy of the request
	 * @param number reads the number of a message of the peer; negative if it is not a
	 * reply
	 * @return replies by number
	 */
	public static Correlation stamped(long largest, Stamp stamp, ToLongFunction<ByteBuffer> number) {
		if (largest < 0) {
			throw new IllegalArgumentException("'largest' must not be negative, but is " + largest);
		}
		return new Stamped(largest, Objects.requireNonNull(stamp, "'stamp' must not be null"),
				Objects.requireNonNull(number, "'number' must not be null"), 0, 0);
	}

	/**
	 * Writes the number of an exchange into its request.
	 */
	@FunctionalInterface
	public interface Stamp {

		/**
		 * Writes a number.
		 * @param request a copy of the request, from position to limit, which the stamp
		 * may change but not lengthen
		 * @param number from 0 to the largest one
		 */
		void write(ByteBuffer request, long number);

	}

	/** Whether no function of the application is called for a message of the peer. */
	abstract boolean isEngineCode();

	/** The exchanges of one connection. */
	abstract ExchangeTable newTable(int places);

	/**
	 * Whether an exchange is registered while its request is being written, in the order
	 * of the socket. Otherwise it is registered earlier, by {@link #register}.
	 */
	boolean isInOrder() {
		return false;
	}

	/**
	 * Registers an exchange whose request will be written next.
	 * @param payload receives the bytes to write if the exchange is registered
	 */
	abstract Registration register(ExchangeTable table, Exchange exchange, ByteBuffer request, Payload payload);

	/**
	 * Finds the key of a message of the peer, or {@code null} if the message is not a
	 * reply.
	 */
	abstract @Nullable Object keyOf(ByteBuffer message);

	/**
	 * Restores the caller's bytes in the copy of a reply, in place of the number that was
	 * stamped.
	 */
	void restore(Exchange exchange, ByteBuffer copy) {
	}

	/** Calls a function of the application, which may change position and limit. */
	private static <T extends @Nullable Object> T look(ByteBuffer message, Function<ByteBuffer, T> function) {
		int position = message.position();
		int limit = message.limit();
		try {
			return function.apply(message);
		}
		finally {
			message.limit(limit).position(position);
		}
	}

	/** Holds the bytes to write for a request. */
	static final class Payload {

		private ByteBuffer bytes;

		Payload(ByteBuffer request) {
			this.bytes = request;
		}

		ByteBuffer bytes() {
			return this.bytes;
		}

	}

	private static final class InOrder extends Correlation {

		private static final InOrder INSTANCE = new InOrder();

		@Override
		boolean isEngineCode() {
			return true;
		}

		@Override
		ExchangeTable newTable(int places) {
			return new OrderedExchanges(places);
		}

		@Override
		boolean isInOrder() {
			return true;
		}

		@Override
		Registration register(ExchangeTable table, Exchange exchange, ByteBuffer request, Payload payload) {
			return table.register(exchange, null);
		}

		@Override
		Object keyOf(ByteBuffer message) {
			return this;
		}

		@Override
		public String toString() {
			return "in order";
		}

	}

	private static final class Keyed extends Correlation {

		private final Function<ByteBuffer, ?> ofRequest;

		private final Function<ByteBuffer, ? extends @Nullable Object> ofReply;

		Keyed(Function<ByteBuffer, ?> ofRequest, Function<ByteBuffer, ? extends @Nullable Object> ofReply) {
			this.ofRequest = ofRequest;
			this.ofReply = ofReply;
		}

		@Override
		boolean isEngineCode() {
			return false;
		}

		@Override
		ExchangeTable newTable(int places) {
			return new KeyedExchanges(places);
		}

		@Override
		Registration register(ExchangeTable table, Exchange exchange, ByteBuffer request, Payload payload) {
			Object key = look(request, this.ofRequest);
			if (key == null) {
				throw new IllegalArgumentException(
						"The request has no key, so its reply could not be found: the correlation returned null");
			}
			return table.register(exchange, key);
		}

		@Override
		@Nullable Object keyOf(ByteBuffer message) {
			return look(message, this.ofReply);
		}

		@Override
		public String toString() {
			return "by key";
		}

	}

	private static final class Stamped extends Correlation {

		private final long largest;

		private final Stamp stamp;

		private final ToLongFunction<ByteBuffer> number;

		private final int offset;

		/** How many bytes of the caller are restored in the reply. */
		private final int length;

		Stamped(long largest, Stamp stamp, ToLongFunction<ByteBuffer> number, int offset, int length) {
			this.largest = largest;
			this.stamp = stamp;
			this.number = number;
			this.offset = offset;
			this.length = length;
		}

		@Override
		boolean isEngineCode() {
			return this.length > 0;
		}

		@Override
		ExchangeTable newTable(int places) {
			return new KeyedExchanges((this.largest < places) ? (int) this.largest + 1 : places);
		}

		@Override
		Registration register(ExchangeTable table, Exchange exchange, ByteBuffer request, Payload payload) {
			ByteBuffer copy = ByteBuffer.allocate(request.remaining());
			copy.put(0, request, request.position(), request.remaining());
			if (this.length > 0) {
				checkField(copy, this.offset, this.length);
				byte[] own = new byte[this.length];
				copy.get(this.offset, own);
				exchange.replaced(own);
			}
			Registration registration = ((KeyedExchanges) table).registerStamped(exchange, this.largest);
			if (registration == Registration.REGISTERED) {
				write(table, exchange, copy);
				payload.bytes = copy;
			}
			return registration;
		}

		private void write(ExchangeTable table, Exchange exchange, ByteBuffer copy) {
			int length = copy.limit();
			try {
				this.stamp.write(copy, KeyedExchanges.stampOf(exchange));
			}
			catch (Throwable ex) {
				table.withdraw(exchange);
				throw ex;
			}
			copy.limit(length).position(0);
		}

		@Override
		@Nullable Object keyOf(ByteBuffer message) {
			long found = look(message, this.number::applyAsLong);
			return (found >= 0) ? (Object) found : null;
		}

		@Override
		void restore(Exchange exchange, ByteBuffer copy) {
			byte[] own = exchange.replaced();
			if (own != null && copy.remaining() >= this.offset + own.length) {
				copy.put(this.offset, own);
			}
		}

		@Override
		public String toString() {
			return "stamped";
		}

	}

}
