package org.leaderfollowers.spring.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method of an {@link LfHandler @LfHandler} bean that is called when a client has
 * connected. A value that it returns is sent to the client, as a greeting.
 * <p>
 * Its parameters may be the {@link org.leaderfollowers.Connection} and
 * {@link org.springframework.messaging.handler.annotation.Header @Header}s, see
 * {@link org.leaderfollowers.spring.handler.LfHeaders}.
 */
@Target({ ElementType.METHOD, ElementType.ANNOTATION_TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface OnOpen {

}
