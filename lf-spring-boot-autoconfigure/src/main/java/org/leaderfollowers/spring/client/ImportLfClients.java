package org.leaderfollowers.spring.client;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.leaderfollowers.spring.annotation.LfClient;

import org.springframework.context.annotation.Import;

/**
 * Creates beans of interfaces that are annotated with {@link LfClient @LfClient} and are
 * not in the packages of the application. Interfaces in these packages are found without
 * this annotation. An interface that is a bean already is not registered again.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Import(LfClientRegistrar.class)
public @interface ImportLfClients {

	/**
	 * The interfaces.
	 * @return interfaces that are annotated with {@link LfClient @LfClient}
	 */
	Class<?>[] value() default {};

	/**
	 * The packages to search, including their subpackages.
	 * @return the names of packages. If there are neither packages nor interfaces, the
	 * packages of the application are searched
	 */
	String[] basePackages() default {};

}
