package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;

/**
 * Supplies one argument of a method for each call.
 */
@FunctionalInterface
interface Argument {

	/**
	 * Supplies the argument.
	 * @param connection the connection
	 * @param message the message, where there is one
	 * @param event what else the call is about: the failure, the reason of a close, or
	 * the payload if it has been converted already
	 */
	@Nullable Object get(Connection connection, @Nullable ByteBuffer message, @Nullable Object event) throws Exception;

}
