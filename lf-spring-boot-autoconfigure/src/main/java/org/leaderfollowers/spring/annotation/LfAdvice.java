package org.leaderfollowers.spring.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.springframework.core.annotation.AliasFor;
import org.springframework.stereotype.Component;

/**
 * Marks a bean whose {@link OnError @OnError} methods handle the failures of several
 * handlers. They are asked after the {@code @OnError} methods of the handlers of the
 * server, and before {@link org.leaderfollowers.spring.handler.LfErrorHandler}s. Of
 * several advices, the {@link org.springframework.core.annotation.Order @Order} of their
 * classes decides which is asked first.
 * <p>
 * An advice has no other annotated methods. On a class, the annotation makes it a
 * component as well; it can also be put on a {@code @Bean} method.
 */
@Target({ ElementType.TYPE, ElementType.METHOD })
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Component
public @interface LfAdvice {

	/**
	 * Alias for {@link #server()}.
	 * @return the names of the servers
	 */
	@AliasFor("server")
	String[] value() default {};

	/**
	 * The servers whose failures the bean handles. Placeholders and SpEL expressions are
	 * resolved.
	 * @return the names of the servers, or nothing for all servers and clients
	 */
	@AliasFor("value")
	String[] server() default {};

}
