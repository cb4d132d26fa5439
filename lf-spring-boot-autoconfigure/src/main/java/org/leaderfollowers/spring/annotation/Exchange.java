package org.leaderfollowers.spring.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method of an {@link LfClient @LfClient} interface. Its only parameter is the
 * request, and the value that it returns is the reply. Both are converted as the messages
 * and replies of an {@link OnMessage @OnMessage} method are, and validated if the
 * parameter or the method is annotated with {@code @Valid}.
 * <p>
 * The method waits for the reply. One that returns a
 * {@link java.util.concurrent.CompletableFuture} does not: a thread of the pool completes
 * the future, and cancelling it gives the reply up. One that returns nothing waits for
 * the reply and ignores it. An {@code Optional} is empty if the reply is.
 * <p>
 * The methods throw, or their futures fail with, the exceptions of
 * {@link org.leaderfollowers.TcpClient#exchange(java.nio.ByteBuffer) TcpClient.exchange}
 * unchanged, and {@link org.leaderfollowers.spring.handler.InvalidReplyException
 * InvalidReplyException} if the reply cannot be converted or is not valid. A request that
 * cannot be converted or is not valid is thrown back to the caller in any case.
 */
@Target({ ElementType.METHOD, ElementType.ANNOTATION_TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface Exchange {

	/**
	 * How long an exchange may take, with the wait for a connection: for example
	 * {@code 500ms} or {@code ${ledger.timeout}}.
	 * @return a duration of more than 0, or nothing for the request timeout of the client
	 */
	String timeout() default "";

}
