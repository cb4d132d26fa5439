package org.leaderfollowers.spring.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method of an {@link LfHandler @LfHandler} or {@link LfAdvice @LfAdvice} bean
 * that is called when something failed with an exception of its type: a method of a
 * handler, or the conversion or validation of a message. The methods of an
 * {@link LfHandler @LfHandler} bean serve all handlers of its server. A value that a
 * method returns is the reply. The failure then counts as handled, and the connection
 * stays open.
 * <p>
 * The method is also called for failures of the framing and of the socket. These close
 * the connection in any case, but the reply is still sent unless the socket failed.
 * <p>
 * If several methods match, the one with the nearest type is called. If no method matches
 * the exception itself, a method that matches its cause is called.
 * <p>
 * One parameter may be the message that failed, for example to put its identifier into
 * the reply. It can have the types that an {@link OnMessage @OnMessage} method accepts. A
 * {@link java.nio.ByteBuffer} is lent until the method returns. If something other than a
 * message has failed, the method is called only if this parameter is an {@code Optional}
 * or {@code @Nullable}.
 * <p>
 * Other parameters may be an exception, the {@link org.leaderfollowers.Connection}, the
 * {@link java.security.Principal} of the client and
 * {@link org.springframework.messaging.handler.annotation.Header @Header}s, see
 * {@link org.leaderfollowers.spring.handler.LfHeaders}.
 */
@Target({ ElementType.METHOD, ElementType.ANNOTATION_TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface OnError {

	/**
	 * The types of exceptions that the method handles. By default, the type of its
	 * parameter that is an exception.
	 * @return the types, possibly none
	 */
	Class<? extends Throwable>[] value() default {};

	/**
	 * Whether the connection is closed after the reply.
	 * @return {@code false} if it stays open
	 */
	boolean close() default false;

}
