package org.leaderfollowers.spring.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.springframework.core.annotation.AliasFor;

/**
 * {@link OnMessage @OnMessage} for the method that logs a client in. If a handler of a
 * server has such a method, a connection has to log in first: until then, its messages
 * reach methods with this annotation only, and a message that none of them is for fails
 * with a {@link org.leaderfollowers.spring.handler.LoginRequiredException
 * LoginRequiredException}. Without a prefix or type, the method gets each message until
 * the connection has logged in. A client with a certificate is logged in from the start.
 * <p>
 * A connection has logged in when its attribute
 * {@link org.leaderfollowers.spring.handler.LfHeaders#PRINCIPAL LfHeaders.PRINCIPAL} is
 * set. The method sets it, or calls
 * {@link org.leaderfollowers.spring.handler.LfAuthentication LfAuthentication} for Spring
 * Security. The value that the method returns is the reply.
 */
@Target({ ElementType.METHOD, ElementType.ANNOTATION_TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Documented
@OnMessage
public @interface OnLogin {

	/**
	 * The types of JSON messages that log in.
	 * @return the types, or nothing
	 * @see OnMessage#type()
	 */
	@AliasFor(annotation = OnMessage.class)
	String[] type() default {};

	/**
	 * How the messages begin that log in.
	 * @return the prefixes, or nothing
	 * @see OnMessage#prefix()
	 */
	@AliasFor(annotation = OnMessage.class)
	String[] prefix() default {};

	/**
	 * Whether the payload begins behind the prefix.
	 * @return {@code false} if the method gets the whole message
	 */
	@AliasFor(annotation = OnMessage.class)
	boolean stripPrefix() default true;

}
