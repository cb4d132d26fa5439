package org.leaderfollowers.spring.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method of an {@link LfHandler @LfHandler} bean that is called once when a
 * connection is closed, as the last method. It returns nothing, because nothing can be
 * sent any more. Its exceptions are logged.
 * <p>
 * Its parameters may be the {@link org.leaderfollowers.Connection}, the
 * {@link org.leaderfollowers.CloseReason} and
 * {@link org.springframework.messaging.handler.annotation.Header @Header}s, see
 * {@link org.leaderfollowers.spring.handler.LfHeaders}.
 */
@Target({ ElementType.METHOD, ElementType.ANNOTATION_TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface OnClose {

}
