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
 * One parameter may be the payload: the parameter without another meaning, or the one
 * annotated with
 * {@link org.springframework.messaging.handler.annotation.Payload @Payload}. It can be a
 * {@code String}, a {@code byte[]}, a {@link java.nio.ByteBuffer}, which is lent until
 * the method returns, or any type that the message can be converted to. Other parameters
 * may be the {@link org.leaderfollowers.Connection}, the {@link java.security.Principal}
 * of the client, {@link org.springframework.messaging.handler.annotation.Header @Header}s
 * (see {@link org.leaderfollowers.spring.handler.LfHeaders}), and all types that a bean
 * of type
 * {@link org.springframework.messaging.handler.invocation.HandlerMethodArgumentResolver
 * HandlerMethodArgumentResolver} supports.
 * <p>
 * The reply may come later or consist of several messages: the method may return a
 * {@link java.util.concurrent.CompletionStage}, a {@link java.util.stream.Stream}, or a
 * publisher such as a {@code Mono} or {@code Flux}, and may be a suspending function of
 * Kotlin. The next message of the connection is handled after the last message of the
 * reply has been sent, unless messages are handled in parallel.
 * <p>
 * A server may have several such methods, in one bean or in several. The method is
 * selected by the beginning of the message ({@link #prefix()}) or by a property of a JSON
 * message ({@link #type()}). If no method has either, it is selected by the class of the
 * payload: the payload classes then have a common supertype whose {@code @JsonTypeInfo}
 * tells Jackson the class of a message. Placeholders and SpEL expressions in prefixes and
 * types are resolved when the handler is created.
 */
@Target({ ElementType.METHOD, ElementType.ANNOTATION_TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface OnMessage {

	/**
	 * Alias for {@link #type()}.
	 * @return the types, possibly none
	 */
	@AliasFor("type")
	String[] value() default {};

	/**
	 * The types of JSON messages that the method handles. The property {@code type}
	 * contains the type, or the property that {@link Discriminator @Discriminator} names.
	 * @return the types, possibly none
	 */
	@AliasFor("value")
	String[] type() default {};

	/**
	 * The beginnings of the messages that the method handles. If several methods match,
	 * the one with the longest prefix is called.
	 * @return the prefixes, possibly none
	 */
	String[] prefix() default {};

	/**
	 * Whether the prefix is removed from the payload.
	 * @return {@code false} if the method gets the whole message
	 */
	boolean stripPrefix() default true;

	/**
	 * Whether the method handles the messages that match no other method of the server.
	 * @return {@code true} for at most one method of a server
	 */
	boolean isDefault() default false;

}
