package org.leaderfollowers.docs.lifecycle;

import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.stereotype.Component;

// tag::maintenance[]
@Component
class Maintenance {

	private final LeaderFollowersServers servers;

	Maintenance(LeaderFollowersServers servers) {
		this.servers = servers;
	}

	void whileOrdersArePaused(Runnable work) {
		this.servers.pause("orders");
		try {
			work.run();
		}
		finally {
			this.servers.resume("orders");
		}
	}

	void whileEverythingIsPaused(Runnable work) {
		this.servers.names().forEach(this.servers::pause);
		try {
			work.run();
		}
		finally {
			this.servers.names().forEach(this.servers::resume);
		}
	}

}
// end::maintenance[]
