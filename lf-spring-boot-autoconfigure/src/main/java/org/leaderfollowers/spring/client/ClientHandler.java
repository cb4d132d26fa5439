package org.leaderfollowers.spring.client;

import java.nio.ByteBuffer;
import java.util.function.Consumer;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventType;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.spring.event.ClientConnectedEvent;
import org.leaderfollowers.spring.event.ClientDisconnectedEvent;

import org.springframework.context.ApplicationEvent;
import org.springframework.util.function.SingletonSupplier;

/**
 * The handler of a client. It is created when the client is started, because its bean may
 * use the client. It publishes the events of connections after it has called the handler.
 */
final class ClientHandler implements MessageHandler {

	private final SingletonSupplier<MessageHandler> handler;

	private final Consumer<ApplicationEvent> events;

	/** Set before the client is started, and so before any connection is opened. */
	private volatile @Nullable TcpClient client;

	ClientHandler(Supplier<MessageHandler> handler, Consumer<ApplicationEvent> events) {
		this.handler = SingletonSupplier.of(handler);
		this.events = events;
	}

	/**
	 * Creates the handler.
	 * @param client the client
	 * @throws RuntimeException if the bean cannot handle messages; its failure analysis
	 * says why
	 */
	void prepare(TcpClient client) {
		this.client = client;
		this.handler.obtain();
	}

	@Override
	public void onOpen(Connection connection) throws Exception {
		this.handler.obtain().onOpen(connection);
		TcpClient opened = this.client;
		if (opened != null) {
			this.events.accept(new ClientConnectedEvent(opened, connection));
		}
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) throws Exception {
		this.handler.obtain().onMessage(connection, message);
	}

	@Override
	public void onWritable(Connection connection) throws Exception {
		this.handler.obtain().onWritable(connection);
	}

	@Override
	public void onIdle(Connection connection, EventType type) throws Exception {
		this.handler.obtain().onIdle(connection, type);
	}

	@Override
	public void onDrain(Connection connection) throws Exception {
		this.handler.obtain().onDrain(connection);
	}

	@Override
	public void onClose(Connection connection, CloseReason reason) throws Exception {
		try {
			this.handler.obtain().onClose(connection, reason);
		}
		finally {
			TcpClient closed = this.client;
			if (closed != null) {
				this.events.accept(new ClientDisconnectedEvent(closed, connection, reason));
			}
		}
	}

	@Override
	public void onError(Connection connection, Throwable failure) throws Exception {
		this.handler.obtain().onError(connection, failure);
	}

	@Override
	public void onError(Connection connection, ByteBuffer message, Throwable failure) throws Exception {
		this.handler.obtain().onError(connection, message, failure);
	}

}
