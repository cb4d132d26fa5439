package org.leaderfollowers.spring.autoconfigure;

import java.util.Map;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Configuration properties of a framing.
 *
 * @param type Kind of framing. Lines by default, unless there is a bean.
 * @param bean Name of a bean of type Framing to use instead of a built-in framing.
 * @param delimiter Delimiter at the end of each message, with escapes such as '\r\n', or
 * bytes in hexadecimal such as '0x0d0a'. Required for the type 'delimiter'.
 * @param length Length of each message in bytes. Required for the type 'fixed-length'.
 * @param lengthField Length field in front of each message.
 * @param decimalLength Length in decimal digits in front of each message.
 * @param enclosed Start and end of each message.
 */
public record FramingProperties(@Nullable Type type, @Nullable String bean, @Nullable String delimiter,
		@Nullable Integer length, @Nullable LengthField lengthField, @Nullable DecimalLength decimalLength,
		@Nullable Enclosed enclosed) {

	/**
	 * The kinds of framing.
	 */
	public enum Type {

		/**
		 * Lines, which end with a line feed or with a carriage return and a line feed.
		 */
		LINE,

		/** Messages that end with a delimiter. */
		DELIMITER,

		/** Messages of a fixed length. */
		FIXED_LENGTH,

		/** Messages behind a header with their length. */
		LENGTH_FIELD,

		/** Messages behind a header with their length in decimal digits. */
		DECIMAL_LENGTH,

		/** Messages between a start and an end. */
		ENCLOSED,

		/** HL7 messages, as MLLP encloses them. */
		MLLP,

		/** ISO 8583 messages behind their length in two bytes. */
		ISO8583,

		/** ISO 8583 messages behind their length in four decimal digits. */
		ISO8583_DECIMAL,

		/** Modbus messages with the header of Modbus TCP. */
		MODBUS_TCP,

		/** Requests and replies of Redis. */
		RESP,

		/** No framing: all bytes that have arrived are a message. */
		RAW

	}

	/**
	 * The header with the length of a message.
	 *
	 * @param bytes Size of the length field in bytes, from 1 to 4. Required for the type
	 * 'length-field'.
	 * @param offset Bytes of header before the length field. They are part of the
	 * message.
	 * @param adjustment Bytes to add to the value of the field to get the length of what
	 * follows it.
	 * @param inclusive Whether the value of the field counts the header and the field
	 * itself.
	 * @param byteOrder Order of the bytes of the length field.
	 */
	public record LengthField(@Nullable Integer bytes, @DefaultValue("0") int offset, @DefaultValue("0") int adjustment,
			@DefaultValue("false") boolean inclusive, @DefaultValue("big-endian") ByteOrder byteOrder) {
	}

	/**
	 * The orders of the bytes of a number.
	 */
	public enum ByteOrder {

		/** Most significant byte first, as usual on the network. */
		BIG_ENDIAN,

		/** Least significant byte first. */
		LITTLE_ENDIAN

	}

	/**
	 * The header with the length of a message in decimal digits.
	 *
	 * @param digits Number of digits, from 1 to 9.
	 * @param offset Bytes of header before the digits. They are part of the message.
	 * @param adjustment Bytes to add to the number to get the length of what follows it.
	 * @param inclusive Whether the number counts the header and the digits themselves.
	 */
	public record DecimalLength(@DefaultValue("4") int digits, @DefaultValue("0") int offset,
			@DefaultValue("0") int adjustment, @DefaultValue("false") boolean inclusive) {
	}

	/**
	 * The start and the end of messages, written like a delimiter.
	 *
	 * @param start Start of each message, such as '0x02'. Required for the type
	 * 'enclosed'.
	 * @param end End of each message, such as '0x03'. Required for the type 'enclosed'.
	 * @param escapes Bytes that do not occur between start and end, each with the two
	 * bytes that stand for it.
	 */
	public record Enclosed(@Nullable String start, @Nullable String end, @DefaultValue Map<String, String> escapes) {
	}

}
