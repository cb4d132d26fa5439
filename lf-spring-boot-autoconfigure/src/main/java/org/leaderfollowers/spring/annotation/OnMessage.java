package org.leaderfollowers.spring.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.springframework.core.annotation.AliasFor;

/**
 * Marks a method of an {@link LfHandler @LfHandler} bean that is called with a message.
 * The value that it returns is the reply.
 * <p>
 * One parameter may be the payload: whichever is nothing else, or the one annotated with
 * {@link org.springframework.messaging.handler.annotation.Payload @Payload}. It can be a
 * {@code String}, a {@code byte[]}, a {@link java.nio.ByteBuffer}, which is lent until
 * the method returns, or anything that the message can be converted to. Other parameters
 * may be the {@link org.leaderfollowers.Connection} and
 * {@link org.springframework.messaging.handler.annotation.Header @Header}s, see
 * {@link org.leaderfollowers.spring.handler.LfHeaders}.
 * <p>
 * A bean may have several such methods. Which one is called is told by the beginning of
 * the message ({@link #prefix()}), by a property of a JSON message ({@link #type()}), or,
 * if all methods have neither, by the class of the payload: the payload classes have a
 * supertype in common then whose {@code @JsonTypeInfo} tells Jackson which of them a
 * message is. Placeholders and SpEL expressions in prefixes and types are resolved when
 * the handler is created.
 */
@Target({ ElementType.METHOD, ElementType.ANNOTATION_TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface OnMessage {

	/**
	 * Alias for {@link #type()}.
	 * @return the types, or nothing
	 */
	@AliasFor("type")
	String[] value() default {};

	/**
	 * The types of JSON messages that the method is for, as told by the property
	 * {@code type} or by the one that {@link Discriminator @Discriminator} names.
	 * @return the types, or nothing
	 */
	@AliasFor("value")
	String[] type() default {};

	/**
	 * How the messages begin that the method is for. If several methods match, the one
	 * with the longest prefix is called.
	 * @return the prefixes, or nothing
	 */
	String[] prefix() default {};

	/**
	 * Whether the payload begins behind the prefix.
	 * @return {@code false} if the method gets the whole message
	 */
	boolean stripPrefix() default true;

	/**
	 * Whether the method is for the messages that no other method of the bean is for.
	 * @return {@code true} for one method at most
	 */
	boolean isDefault() default false;

}
