package org.leaderfollowers.sample.backend;

import java.sql.SQLException;

import org.h2.tools.Server;
import org.leaderfollowers.sample.Tiers;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Profile;

/**
 * Offers the database of this process to back ends in other processes of this machine.
 */
@Configuration(proxyBeanMethods = false)
@Profile(Tiers.DATABASE)
class DatabaseServer {

	@Bean(initMethod = "start", destroyMethod = "stop")
	@DependsOnDatabaseInitialization
	Server h2Server(@Value("${sample.database.port}") int port) throws SQLException {
		return Server.createTcpServer("-tcpPort", Integer.toString(port));
	}

}
