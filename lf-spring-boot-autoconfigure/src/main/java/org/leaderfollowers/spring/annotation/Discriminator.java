package org.leaderfollowers.spring.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.springframework.core.annotation.AliasFor;

/**
 * Sets, for an {@link LfHandler @LfHandler} bean, the property of a JSON message that
 * contains its type. Without this annotation, it is {@code type}.
 * {@link OnMessage#type()} contains the values.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface Discriminator {

	/**
	 * Alias for {@link #property()}.
	 * @return the name of the property
	 */
	@AliasFor("property")
	String value() default "type";

	/**
	 * The property of the outermost JSON object. Placeholders and SpEL expressions are
	 * resolved.
	 * @return the name of the property
	 */
	@AliasFor("value")
	String property() default "type";

}
