package org.leaderfollowers.spring.handler;

import java.lang.invoke.MethodHandle;
import java.nio.ByteBuffer;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;

/**
 * A method of a bean, ready to be called.
 */
final class HandlerMethod {

	private final MethodHandle handle;

	private final Argument[] arguments;

	private final String description;

	/**
	 * Creates a method.
	 * @param handle bound to the bean, of type {@code (Object[])Object}
	 * @param arguments what supplies the arguments
	 * @param description the method for people
	 */
	HandlerMethod(MethodHandle handle, Argument[] arguments, String description) {
		this.handle = handle;
		this.arguments = arguments;
		this.description = description;
	}

	/**
	 * Calls the method.
	 * @see Argument#get
	 */
	@Nullable Object invoke(Connection connection, @Nullable ByteBuffer message, @Nullable Object event) throws Throwable {
		Argument[] arguments = this.arguments;
		@Nullable Object[] values = new @Nullable Object[arguments.length];
		for (int i = 0; i < arguments.length; i++) {
			values[i] = arguments[i].get(connection, message, event);
		}
		return (Object) this.handle.invokeExact(values);
	}

	@Override
	public String toString() {
		return this.description;
	}

}
