package org.leaderfollowers.spring.client.app;

import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;

import org.springframework.boot.autoconfigure.AutoConfigurationPackage;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.context.annotation.Configuration;

/** An application whose package is searched. */
@Configuration(proxyBeanMethods = false)
@AutoConfigurationPackage
@ImportAutoConfiguration(LeaderFollowersAutoConfiguration.class)
public class LedgerApplication {

}
