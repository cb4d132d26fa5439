package org.leaderfollowers.spring.test;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.junit.jupiter.api.extension.ExtendWith;
import org.leaderfollowers.spring.annotation.LfHandler;

import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.test.autoconfigure.OverrideAutoConfiguration;
import org.springframework.boot.test.autoconfigure.json.AutoConfigureJson;
import org.springframework.boot.test.context.filter.annotation.TypeExcludeFilters;
import org.springframework.context.annotation.ComponentScan.Filter;
import org.springframework.context.annotation.Import;
import org.springframework.core.annotation.AliasFor;
import org.springframework.core.env.Environment;
import org.springframework.test.context.BootstrapWith;
import org.springframework.test.context.bean.override.mockito.MockitoBean;
import org.springframework.test.context.junit.jupiter.SpringExtension;

/**
 * Annotation for a test that focuses <strong>only</strong> on the handlers of
 * Leader/Followers servers.
 * <p>
 * Only auto-configuration that handlers need is enabled: servers and pools, JSON,
 * validation and SSL bundles; no web server and no database. Component scanning is
 * limited to beans that are annotated with:
 * <ul>
 * <li>{@link LfHandler @LfHandler}</li>
 * <li>{@link org.leaderfollowers.spring.annotation.LfAdvice @LfAdvice}</li>
 * <li>{@link org.leaderfollowers.spring.annotation.LfClient @LfClient}</li>
 * <li>{@code @JacksonComponent}, if Jackson is available</li>
 * </ul>
 * and to beans of the types {@code Framing}, {@code MessageOrder}, {@code ServiceClass},
 * {@code ClientKey}, {@code NestingGuard}, {@code LfErrorHandler},
 * {@code HandlerMethodArgumentResolver}, {@code HandlerMethodReturnValueHandler},
 * {@code MessageHandlerDecorator}, which interceptors are, {@code Correlation},
 * {@code ExchangeInterceptor}, the customizers of servers, clients and pools,
 * {@code MessageObservationConvention}, {@code ExchangeObservationConvention},
 * {@code Converter}, {@code GenericConverter}, {@code Formatter},
 * {@code MessageConverter} and {@code JacksonModule}, as far as these are available. The
 * test provides all other beans that a handler needs, with
 * {@link MockitoBean @MockitoBean} or {@link Import @Import}.
 * <p>
 * Handlers of event sources are included only if the annotation names them; the test then
 * also provides the event source.
 * <p>
 * A configured server whose handler is not part of the test is excluded. All others
 * listen on {@linkplain ServerEnvironment#RANDOM_PORT random ports}.
 *
 * <pre>
 * &#064;LfHandlerTest(Orders.class)
 * class OrdersTests {
 *
 *     &#064;Autowired
 *     private LfTestClients clients;
 *
 *     &#064;MockitoBean
 *     private Warehouse warehouse;
 *
 *     ...
 *
 * }
 * </pre>
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@BootstrapWith(LfHandlerTestContextBootstrapper.class)
@ExtendWith(SpringExtension.class)
@OverrideAutoConfiguration(enabled = false)
@TypeExcludeFilters(LfHandlerTypeExcludeFilter.class)
@AutoConfigureJson
@ImportAutoConfiguration
public @interface LfHandlerTest {

	/**
	 * Properties in form {@literal key=value} that are added to the Spring
	 * {@link Environment} before the test runs.
	 * @return the properties to add
	 */
	String[] properties() default {};

	/**
	 * Alias for {@link #handlers()}.
	 * @return the handlers to test
	 */
	@AliasFor("handlers")
	Class<?>[] value() default {};

	/**
	 * The handlers to test. By default, all beans that are annotated with
	 * {@link LfHandler @LfHandler}.
	 * @return the handlers to test
	 */
	@AliasFor("value")
	Class<?>[] handlers() default {};

	/**
	 * How the servers run in the test.
	 * @return the default is {@link ServerEnvironment#RANDOM_PORT}
	 */
	ServerEnvironment serverEnvironment() default ServerEnvironment.RANDOM_PORT;

	/**
	 * Whether the default filters are used with
	 * {@link SpringBootApplication @SpringBootApplication}.
	 * @return {@code false} to include only the components that match
	 * {@link #includeFilters()}
	 */
	boolean useDefaultFilters() default true;

	/**
	 * Filters for further beans that are added to the application context.
	 * @return include filters to apply
	 */
	Filter[] includeFilters() default {};

	/**
	 * Filters for beans that are excluded.
	 * @return exclude filters to apply
	 */
	Filter[] excludeFilters() default {};

	/**
	 * Auto-configuration that is excluded.
	 * @return the classes to exclude
	 */
	@AliasFor(annotation = ImportAutoConfiguration.class, attribute = "exclude")
	Class<?>[] excludeAutoConfiguration() default {};

	/** How servers run in a test. */
	enum ServerEnvironment {

		/**
		 * Servers listen on ports that the system chooses; configured ports are ignored.
		 */
		RANDOM_PORT,

		/** Servers listen on the configured ports. */
		DEFINED_PORT,

		/**
		 * Servers are not started, so there are neither sockets nor threads:
		 * {@link LfTestClients#openInMemory(String)} calls their handlers. Clients are
		 * not started either: {@link LfTestPeers} provides their peers.
		 */
		IN_MEMORY

	}

}
