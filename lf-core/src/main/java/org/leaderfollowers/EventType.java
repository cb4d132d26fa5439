package org.leaderfollowers;

import java.nio.channels.SelectionKey;

/**
 * The indication events that a {@link HandleSet} demultiplexes.
 */
public enum EventType {

	/** A peer asks for a connection: the paper's CONNECT event, as a server sees it. */
	ACCEPT(SelectionKey.OP_ACCEPT),

	/** A connection that this side asked for is established, or has failed. */
	CONNECT(SelectionKey.OP_CONNECT),

	/** There is input to read, or the end of the input. */
	READ(SelectionKey.OP_READ),

	/** There is room to write. */
	WRITE(SelectionKey.OP_WRITE);

	private static final EventType[] VALUES = values();

	final int operation;

	EventType(int operation) {
		this.operation = operation;
	}

	static int operations(EventType... types) {
		int operations = 0;
		for (EventType type : types) {
			operations |= type.operation;
		}
		return operations;
	}

	static EventType first(int operations) {
		for (EventType type : VALUES) {
			if ((operations & type.operation) != 0) {
				return type;
			}
		}
		throw new IllegalArgumentException("No event type in operations " + operations);
	}

}
