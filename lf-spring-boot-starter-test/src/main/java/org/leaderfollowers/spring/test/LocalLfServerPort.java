package org.leaderfollowers.spring.test;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.core.annotation.AliasFor;

/**
 * Injects the port that a server was bound to, into a field or a parameter of a test:
 *
 * <pre>
 * &#064;Test
 * void answers(&#064;LocalLfServerPort int port, &#064;LocalLfServerPort("orders") int ordersPort) { ... }
 * </pre>
 */
@Target({ ElementType.FIELD, ElementType.METHOD, ElementType.PARAMETER, ElementType.ANNOTATION_TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Value("${local.lf.server.port}")
public @interface LocalLfServerPort {

	/**
	 * Alias for {@link #server()}.
	 * @return the name of the server
	 */
	@AliasFor("server")
	String value() default "default";

	/**
	 * The server whose port is injected.
	 * @return the name of the server
	 */
	@AliasFor("value")
	String server() default "default";

}
