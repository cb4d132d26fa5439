package org.leaderfollowers.spring.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method of an {@link LfClient @LfClient} interface. Its only parameter is the
 * request, and the value that it returns is the reply. Both are converted like the
 * messages and replies of an {@link OnMessage @OnMessage} method, and validated if the
 * parameter or the method is annotated with {@code @Valid}.
 * <p>
 * The method waits for the reply. If it returns a
 * {@link java.util.concurrent.CompletableFuture}, it does not wait: a thread of the pool
 * completes the future, and cancelling the future gives up the reply. If it returns
 * nothing, it waits for the reply and ignores it. If it returns an {@code Optional}, this
 * is empty for an empty reply.
 * <p>
 * The methods throw, or their futures fail with, the exceptions of
 * {@link org.leaderfollowers.TcpClient#exchange(java.nio.ByteBuffer) TcpClient.exchange}
 * unchanged, and {@link org.leaderfollowers.spring.handler.InvalidReplyException
 * InvalidReplyException} if the reply cannot be converted or is not valid. An exception
 * for a request that cannot be converted or is not valid is always thrown to the caller.
 */
@Target({ ElementType.METHOD, ElementType.ANNOTATION_TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface Exchange {

	/**
	 * How long an exchange may take, including the wait for a connection: for example
	 * {@code 500ms} or {@code ${ledger.timeout}}.
	 * @return a duration of more than 0; by default, the request timeout of the client
	 */
	String timeout() default "";

}
