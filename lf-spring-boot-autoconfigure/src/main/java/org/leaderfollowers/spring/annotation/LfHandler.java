package org.leaderfollowers.spring.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.leaderfollowers.MessageHandler;

import org.springframework.core.annotation.AliasFor;
import org.springframework.stereotype.Component;

/**
 * Marks a bean as the concrete event handler of a server: what the application does with
 * the messages of its clients. Each server has exactly one. The bean has methods that are
 * annotated with {@link OnMessage @OnMessage} and, if it wants, {@link OnOpen @OnOpen},
 * {@link OnClose @OnClose} and {@link OnError @OnError}; or it implements
 * {@link MessageHandler}, which costs least. A message handler may have annotated methods
 * for what it does not implement.
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

}
