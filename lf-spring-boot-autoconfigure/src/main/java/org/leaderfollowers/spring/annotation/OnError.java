package org.leaderfollowers.spring.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method of an {@link LfHandler @LfHandler} bean that is called when something
 * failed with an exception of its type: another method of the bean, or the conversion or
 * validation of a message. A value that it returns is the reply. The failure counts as
 * handled then, and the connection stays open.
 * <p>
 * Failures of the framing and of the socket are given to it as well; these close the
 * connection in any case, but unless the socket failed, the reply is still sent.
 * <p>
 * Of several methods, the one whose type is nearest to that of the exception is called.
 * If there is none for the exception itself, there may be one for its cause.
 * <p>
 * One parameter may be the message that failed, for example to put its identifier into
 * the reply: of the types that an {@link OnMessage @OnMessage} method can take it as. A
 * {@link java.nio.ByteBuffer} is lent until the method returns. If something else has
 * failed there is none: the method is not called then, unless the parameter is an
 * {@code Optional} or {@code @Nullable}.
 * <p>
 * Other parameters may be an exception, the {@link org.leaderfollowers.Connection} and
 * {@link org.springframework.messaging.handler.annotation.Header @Header}s, see
 * {@link org.leaderfollowers.spring.handler.LfHeaders}.
 */
@Target({ ElementType.METHOD, ElementType.ANNOTATION_TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface OnError {

	/**
	 * The types of exceptions that the method is for. If there are none, it is for the
	 * type of its parameter that is an exception.
	 * @return the types, or nothing
	 */
	Class<? extends Throwable>[] value() default {};

	/**
	 * Whether the connection is closed after the reply.
	 * @return {@code false} if it stays open
	 */
	boolean close() default false;

}
