package org.leaderfollowers.spring.event;

import org.springframework.context.ApplicationEvent;

/**
 * Something that happened to a server, a client, a connection or a pool. A listener for
 * this type hears every connection open and close as well, which is rarely wanted.
 */
@SuppressWarnings("serial")
public abstract class LfEvent extends ApplicationEvent {

	LfEvent(Object source) {
		super(source);
	}

}
