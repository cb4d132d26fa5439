package org.leaderfollowers.spring.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method of an {@link LfHandler @LfHandler} bean that is called when nothing was
 * received from a client, or nothing was sent to it, for a configured period. The
 * properties {@code lf.server.read-idle} and {@code lf.server.write-idle} set the
 * periods, or {@link org.leaderfollowers.Connection#idleAfter} for one connection. The
 * method is called again after each further period. A value that it returns is sent to
 * the client, as a heartbeat.
 * <p>
 * Its parameters may be the {@link org.leaderfollowers.EventType}, which is {@code READ}
 * if nothing was received and {@code WRITE} if nothing was sent, the
 * {@link org.leaderfollowers.Connection} and
 * {@link org.springframework.messaging.handler.annotation.Header @Header}s, see
 * {@link org.leaderfollowers.spring.handler.LfHeaders}.
 *
 * @see org.leaderfollowers.MessageHandler#onIdle
 */
@Target({ ElementType.METHOD, ElementType.ANNOTATION_TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface OnIdle {

}
