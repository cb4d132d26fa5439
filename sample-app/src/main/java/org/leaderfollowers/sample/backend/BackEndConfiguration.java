package org.leaderfollowers.sample.backend;

import org.leaderfollowers.sample.Tiers;
import org.leaderfollowers.sample.tier.TierProtocol;
import org.leaderfollowers.spring.annotation.LfHandler;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Profile;

/** The two back ends. They differ only in their servers. */
@Configuration(proxyBeanMethods = false)
class BackEndConfiguration {

	@Bean
	@LfHandler(server = "backend1")
	@Profile(Tiers.BACK_END_1)
	BackEndHandler backEnd1(TierProtocol protocol, TransactionProcessor transactions, OltpProperties properties) {
		return new BackEndHandler(protocol, transactions, properties);
	}

	@Bean
	@LfHandler(server = "backend2")
	@Profile(Tiers.BACK_END_2)
	BackEndHandler backEnd2(TierProtocol protocol, TransactionProcessor transactions, OltpProperties properties) {
		return new BackEndHandler(protocol, transactions, properties);
	}

}
