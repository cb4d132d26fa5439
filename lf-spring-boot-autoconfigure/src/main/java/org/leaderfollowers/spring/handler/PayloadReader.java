package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;

/**
 * Converts messages to one type.
 */
@FunctionalInterface
interface PayloadReader {

	@Nullable Object read(Connection connection, ByteBuffer message) throws Exception;

}
