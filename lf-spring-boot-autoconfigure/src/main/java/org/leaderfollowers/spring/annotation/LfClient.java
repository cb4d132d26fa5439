package org.leaderfollowers.spring.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks an interface whose methods send requests by a client and return the replies:
 *
 * <pre>
 * &#064;LfClient("ledger")
 * interface Ledger {
 *
 *     &#064;Exchange
 *     Receipt book(Order order);
 *
 *     &#064;Exchange(timeout = "30s")
 *     CompletableFuture&lt;Receipt&gt; bookLater(Order order);
 *
 * }
 * </pre>
 *
 * Interfaces in the packages of the application are found automatically, as entities are;
 * others are imported by
 * {@link org.leaderfollowers.spring.client.ImportLfClients @ImportLfClients}. Each
 * becomes a bean, which can be injected by its type. Every abstract method must be
 * annotated with {@link Exchange @Exchange}. Default methods are ordinary methods.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface LfClient {

	/**
	 * The client that sends the requests. It is configured by the properties
	 * {@code lf.clients.<name>.*}, or is a {@link org.leaderfollowers.TcpClient} bean.
	 * Placeholders and SpEL expressions are resolved.
	 * @return the name of the client
	 */
	String value();

}
