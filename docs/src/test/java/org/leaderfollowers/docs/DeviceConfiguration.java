package org.leaderfollowers.docs;

import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.server.LeaderFollowersPools;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

@Configuration(proxyBeanMethods = false)
class DeviceConfiguration {

	// tag::server[]
	@Bean
	TcpServer devices(LeaderFollowersPools pools) {
		MessageHandler echo = (connection, message) -> connection.send(message);
		return TcpServer.builder(pools.get("default"))
			.name("devices")
			.port(0)
			.framing(new StxEtxFraming())
			.handler(echo)
			.handlerName("echo")
			.build();
	}
	// end::server[]

}
