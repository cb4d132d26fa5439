package org.leaderfollowers.sample;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.context.ActiveProfiles;
import org.springframework.test.context.ContextConfiguration;
import org.springframework.test.context.TestPropertySource;

/**
 * Runs a test with the profile {@code postgresql}, on a server that is part of the build.
 * To use another one set {@code SAMPLE_POSTGRESQL=true} and the {@code PG...} variables
 * that the profile reads; the tables of the sample in that database are dropped.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(PostgresqlTest.Server.class)
@ContextConfiguration(initializers = PostgresqlTest.Server.class)
@ActiveProfiles("postgresql")
@TestPropertySource(properties = "spring.sql.init.schema-locations=classpath:drop-tables.sql,classpath:schema.sql")
@DirtiesContext
public @interface PostgresqlTest {

	/** One server for all tests, started for the first of them. */
	final class Server implements ExecutionCondition, ApplicationContextInitializer<ConfigurableApplicationContext> {

		private static final boolean INSTALLED = "true".equals(System.getenv("SAMPLE_POSTGRESQL"));

		private static @Nullable PostgresqlServer server;

		@Override
		public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
			if (INSTALLED || PostgresqlServer.isAvailable()) {
				return ConditionEvaluationResult.enabled("There is a PostgreSQL server");
			}
			return ConditionEvaluationResult
				.disabled("No PostgreSQL for this system: set SAMPLE_POSTGRESQL=true if there is a server");
		}

		@Override
		public void initialize(ConfigurableApplicationContext context) {
			if (!INSTALLED) {
				TestPropertyValues
					.of("PGHOST=127.0.0.1", "PGPORT=" + server().port(), "PGDATABASE=postgres",
							"PGUSER=" + PostgresqlServer.USER)
					.applyTo(context);
			}
		}

		private static synchronized PostgresqlServer server() {
			if (server == null) {
				server = PostgresqlServer.start();
			}
			return server;
		}

	}

}
