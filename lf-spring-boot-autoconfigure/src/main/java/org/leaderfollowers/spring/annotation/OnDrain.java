package org.leaderfollowers.spring.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method of an {@link LfHandler @LfHandler} bean that is called once for every
 * open connection when it begins to drain. A value that it returns is sent to the client,
 * as a sign-off, before the connection is closed. Messages that have been received are
 * still handled, after this call.
 * <p>
 * Its parameters may be the {@link org.leaderfollowers.Connection} and
 * {@link org.springframework.messaging.handler.annotation.Header @Header}s, see
 * {@link org.leaderfollowers.spring.handler.LfHeaders}.
 *
 * @see org.leaderfollowers.MessageHandler#onDrain
 */
@Target({ ElementType.METHOD, ElementType.ANNOTATION_TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface OnDrain {

}
