package org.leaderfollowers.docs.lifecycle;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.leaderfollowers.spring.event.ConnectionClosedEvent;
import org.leaderfollowers.spring.event.ConnectionOpenedEvent;
import org.leaderfollowers.spring.event.PoolStarvedEvent;

import org.springframework.context.event.EventListener;
import org.springframework.stereotype.Component;

// tag::listener[]
@Component
class ConnectionAudit {

	private final Queue<String> entries = new ConcurrentLinkedQueue<>();

	@EventListener
	void opened(ConnectionOpenedEvent event) {
		this.entries.add("opened " + event.getServerName() + " " + event.getConnection().remoteAddress());
	}

	@EventListener
	void closed(ConnectionClosedEvent event) {
		this.entries.add("closed " + event.getServerName() + " " + event.getReason());
	}

	@EventListener
	void starved(PoolStarvedEvent event) {
		this.entries.add("starved " + event.getPool().name() + " " + event.getDuration());
	}
	// end::listener[]

	Queue<String> entries() {
		return this.entries;
	}

}
