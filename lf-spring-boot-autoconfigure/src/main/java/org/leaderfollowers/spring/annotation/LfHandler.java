package org.leaderfollowers.spring.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.leaderfollowers.EventSource;
import org.leaderfollowers.MessageHandler;

import org.springframework.core.annotation.AliasFor;
import org.springframework.stereotype.Component;

/**
 * Marks a bean as a concrete event handler of a server: it handles the messages of the
 * server's clients. The bean has methods that are annotated with
 * {@link OnMessage @OnMessage}, {@link OnLogin @OnLogin}, {@link OnOpen @OnOpen},
 * {@link OnIdle @OnIdle}, {@link OnDrain @OnDrain}, {@link OnClose @OnClose} or
 * {@link OnError @OnError}. Or it implements {@link MessageHandler}, which has the lowest
 * cost; it may then have annotated methods for the events whose methods it does not
 * implement.
 * <p>
 * Several beans with annotated methods may share a server or client. Their
 * {@link OnMessage @OnMessage} methods form one table, in which no two methods are for
 * the same messages. All beans are told of the life of a connection, in the
 * {@link org.springframework.core.annotation.Order @Order} of their classes. A message
 * handler takes all messages, so it is the only handler of its server.
 * <p>
 * With {@link #source()}, the bean handles the events of an {@link EventSource} instead.
 * It has one method that is annotated with {@link OnMessage @OnMessage}, whose only
 * parameter is the event; or it implements {@link EventSource.Handler}. With
 * {@link #client()}, it handles the connections of a client: {@link OnMessage @OnMessage}
 * methods are called with messages of the peer that are not replies. A bean belongs to
 * one server, one event source or one client.
 * <p>
 * Names can contain placeholders and SpEL expressions, such as {@code ${orders.server}}.
 * <p>
 * On a class, the annotation makes it a component as well; it can also be put on a
 * {@code @Bean} method:
 *
 * <pre>
 * &#064;LfHandler
 * class Echo {
 *
 *     &#064;OnMessage
 *     String echo(String message) {
 *         return message;
 *     }
 *
 * }
 * </pre>
 */
@Target({ ElementType.TYPE, ElementType.METHOD })
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Component
public @interface LfHandler {

	/**
	 * Alias for {@link #server()}.
	 * @return the name of the server
	 */
	@AliasFor("server")
	String value() default "default";

	/**
	 * The server whose messages the bean handles. The server {@code default} is
	 * configured by the properties {@code lf.server.*}, every other one by
	 * {@code lf.servers.<name>.*}.
	 * @return the name of the server
	 */
	@AliasFor("value")
	String server() default "default";

	/**
	 * The event source whose events the bean handles: the name of a bean of type
	 * {@link EventSource}. The bean then belongs to no server.
	 * @return the name of the event source, or an empty string
	 */
	String source() default "";

	/**
	 * The client whose connections the bean handles: opening and closing, and messages of
	 * the peer that are not replies. The bean then belongs to no server.
	 * @return the name of the client, or an empty string
	 */
	String client() default "";

}
