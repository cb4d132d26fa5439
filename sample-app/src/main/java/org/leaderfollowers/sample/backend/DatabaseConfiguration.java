package org.leaderfollowers.sample.backend;

import javax.sql.DataSource;

import org.leaderfollowers.sample.Tiers;

import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.sql.autoconfigure.init.SqlInitializationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Profile;
import org.springframework.jdbc.support.SQLErrorCodeSQLExceptionTranslator;
import org.springframework.jdbc.support.SQLExceptionTranslator;

/** The settings of the database that properties do not cover. */
@Profile(Tiers.DATA_SOURCE)
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(SqlInitializationProperties.class)
class DatabaseConfiguration {

	@Bean
	ScaledDatabaseInitializer databaseInitializer(DataSource dataSource, SqlInitializationProperties settings,
			OltpProperties properties) {
		return new ScaledDatabaseInitializer(dataSource, settings, properties.scale());
	}

	/**
	 * Translates exceptions by the error codes of each database. The standard codes alone
	 * do not distinguish a lock timeout of PostgreSQL from other failures.
	 */
	@Bean
	SQLExceptionTranslator exceptionTranslator(DataSource dataSource) {
		return new SQLErrorCodeSQLExceptionTranslator(dataSource);
	}

}
