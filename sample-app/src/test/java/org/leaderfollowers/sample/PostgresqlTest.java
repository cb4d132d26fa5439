package org.leaderfollowers.sample;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.context.ActiveProfiles;
import org.springframework.test.context.TestPropertySource;

/**
 * Runs a test with the profile {@code postgresql} where there is a server for it: set
 * {@code SAMPLE_POSTGRESQL=true} and the {@code PG...} variables that the profile reads.
 * The tables of the sample in that database are dropped.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@EnabledIfEnvironmentVariable(named = "SAMPLE_POSTGRESQL", matches = "true",
		disabledReason = "Needs a PostgreSQL server: set SAMPLE_POSTGRESQL=true if there is one")
@ActiveProfiles("postgresql")
@TestPropertySource(properties = "spring.sql.init.schema-locations=classpath:drop-tables.sql,classpath:schema.sql")
@DirtiesContext
@interface PostgresqlTest {

}
