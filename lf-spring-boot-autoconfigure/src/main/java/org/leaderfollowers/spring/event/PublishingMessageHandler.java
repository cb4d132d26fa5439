package org.leaderfollowers.spring.event;

import java.nio.ByteBuffer;

import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;

/**
 * Publishes the events of connections after their handler was told.
 */
final class PublishingMessageHandler implements MessageHandler {

	private final MessageHandler handler;

	private final EventPublication publication;

	PublishingMessageHandler(MessageHandler handler, EventPublication publication) {
		this.handler = handler;
		this.publication = publication;
	}

	@Override
	public void onOpen(Connection connection) throws Exception {
		this.handler.onOpen(connection);
		this.publication.publish(new ConnectionOpenedEvent(connection));
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) throws Exception {
		this.handler.onMessage(connection, message);
	}

	@Override
	public void onWritable(Connection connection) throws Exception {
		this.handler.onWritable(connection);
	}

	@Override
	public void onClose(Connection connection, CloseReason reason) throws Exception {
		try {
			this.handler.onClose(connection, reason);
		}
		finally {
			this.publication.publish(new ConnectionClosedEvent(connection, reason));
		}
	}

	@Override
	public void onError(Connection connection, Throwable failure) throws Exception {
		try {
			this.handler.onError(connection, failure);
		}
		finally {
			this.publication.publish(new ConnectionFailedEvent(connection, failure));
		}
	}

}
