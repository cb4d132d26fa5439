package org.leaderfollowers.spring.autoconfigure;

import io.micrometer.context.ContextRegistry;
import org.leaderfollowers.TcpServer;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for the propagation of values from
 * the attributes of connections to the threads that handle them.
 */
@AutoConfiguration(after = LeaderFollowersAutoConfiguration.class)
@ConditionalOnClass({ TcpServer.class, ContextRegistry.class })
@ConditionalOnBooleanProperty(name = "lf.enabled", matchIfMissing = true)
public final class LeaderFollowersContextPropagationAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	ContextPropagation leaderFollowersContextPropagation() {
		return new ContextPropagation(ContextRegistry.getInstance());
	}

}
