package org.leaderfollowers.docs.lifecycle;

import org.leaderfollowers.spring.event.PauseServerEvent;
import org.leaderfollowers.spring.event.ResumeServerEvent;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.context.ApplicationEventPublisher;
import org.springframework.stereotype.Component;

// tag::maintenance[]
@Component
class Maintenance {

	private final LeaderFollowersServers servers;

	private final ApplicationEventPublisher events;

	Maintenance(LeaderFollowersServers servers, ApplicationEventPublisher events) {
		this.servers = servers;
		this.events = events;
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
		this.events.publishEvent(new PauseServerEvent(this, null));
		try {
			work.run();
		}
		finally {
			this.events.publishEvent(new ResumeServerEvent(this, null));
		}
	}

}
// end::maintenance[]
