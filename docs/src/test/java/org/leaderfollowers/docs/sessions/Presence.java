package org.leaderfollowers.docs.sessions;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.leaderfollowers.spring.event.SessionClosedEvent;
import org.leaderfollowers.spring.event.SessionOpenedEvent;

import org.springframework.context.event.EventListener;
import org.springframework.stereotype.Component;

// tag::presence[]
@Component
class Presence {

	private final Set<Long> open = ConcurrentHashMap.newKeySet();

	@EventListener
	void opened(SessionOpenedEvent event) {
		this.open.add(event.getEpoch());
	}

	@EventListener
	void closed(SessionClosedEvent event) {
		this.open.remove(event.getEpoch());
	}
	// end::presence[]

	Set<Long> open() {
		return this.open;
	}
	// tag::presence[]

}
// end::presence[]
