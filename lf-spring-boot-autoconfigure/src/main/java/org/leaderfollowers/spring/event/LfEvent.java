package org.leaderfollowers.spring.event;

import org.springframework.context.ApplicationEvent;

/**
 * An event of a server, a client, a connection or a pool. A listener for this type also
 * receives the events of all connections, which is rarely wanted.
 */
@SuppressWarnings("serial")
public abstract class LfEvent extends ApplicationEvent {

	LfEvent(Object source) {
		super(source);
	}

}
