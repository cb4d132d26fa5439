package org.leaderfollowers.benchmarks.servers;

import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.integration.ip.IpHeaders;
import org.springframework.integration.ip.tcp.connection.TcpConnection;
import org.springframework.integration.ip.tcp.connection.TcpConnectionServerListeningEvent;
import org.springframework.integration.ip.tcp.connection.TcpListener;
import org.springframework.integration.ip.tcp.connection.TcpNioServerConnectionFactory;
import org.springframework.integration.ip.tcp.connection.TcpSender;
import org.springframework.integration.ip.tcp.serializer.ByteArrayLfSerializer;
import org.springframework.integration.support.MessageBuilder;
import org.springframework.integration.util.CompositeExecutor;
import org.springframework.messaging.Message;
import org.springframework.scheduling.concurrent.SimpleAsyncTaskScheduler;

/**
 * Spring Integration with its NIO connection factory, without the channels and endpoints
 * that an application would add behind it. It selects and reads with threads of their
 * own, as its reference recommends, so that those that assemble and handle messages
 * cannot starve them.
 * <p>
 * It is the one that does not keep the order of the messages of one connection: while a
 * message is handled, the next is assembled and handled by another thread.
 */
final class SpringIntegrationServer implements EchoServer {

	private static final long START_SECONDS = 10;

	private final ExecutorService readers;

	private final ExecutorService handlers;

	/** Only reports that the port is bound. */
	private final SimpleAsyncTaskScheduler scheduler = new SimpleAsyncTaskScheduler();

	private final TcpNioServerConnectionFactory factory;

	private final int port;

	SpringIntegrationServer(ServerOptions options, Runnable work) throws IOException {
		// One thread for the selector, and as many as can read at a time.
		this.readers = Executors.newFixedThreadPool(1 + Runtime.getRuntime().availableProcessors());
		this.handlers = Executors.newFixedThreadPool(options.threads());
		ByteArrayLfSerializer lines = new ByteArrayLfSerializer();
		// Includes carriage return and line feed.
		lines.setMaxMessageSize(options.maxMessage() + 2);
		// Otherwise each message would be assembled in a new buffer of the maximum size.
		lines.setPoolSize(options.threads());
		this.factory = new ConnectionFactory();
		this.factory.setLocalAddress(Loopback.address().getHostAddress());
		this.factory.setBacklog(Loopback.BACKLOG);
		this.factory.setSoTcpNoDelay(true);
		this.factory.setLookupHost(false);
		this.factory.setUsingDirectBuffers(true);
		this.factory.setSerializer(lines);
		this.factory.setDeserializer(lines);
		this.factory.setTaskExecutor(new CompositeExecutor(this.readers, this.handlers));
		EchoGateway gateway = new EchoGateway(work);
		this.factory.registerListener(gateway);
		this.factory.registerSender(gateway);
		CompletableFuture<Integer> bound = new CompletableFuture<>();
		this.factory.setApplicationEventPublisher((event) -> {
			if (event instanceof TcpConnectionServerListeningEvent listening) {
				bound.complete(listening.getPort());
			}
		});
		// The factory looks for settings there, and uses defaults for missing ones.
		this.factory.setBeanFactory(new DefaultListableBeanFactory());
		this.factory.setTaskScheduler(this.scheduler);
		this.factory.afterPropertiesSet();
		this.factory.start();
		try {
			this.port = bound.get(START_SECONDS, TimeUnit.SECONDS);
		}
		catch (InterruptedException | ExecutionException | TimeoutException ex) {
			close();
			throw new IOException("The connection factory did not start to listen", ex);
		}
	}

	@Override
	public int port() {
		return this.port;
	}

	@Override
	public void close() {
		this.factory.stop();
		this.scheduler.close();
		Threads.shutDown(this.readers);
		Threads.shutDown(this.handlers);
	}

	private static final class ConnectionFactory extends TcpNioServerConnectionFactory {

		ConnectionFactory() {
			super(0);
		}

		@Override
		public void stop() {
			// Otherwise the factory would treat the selector that it closes as failed.
			setActive(false);
			super.stop();
		}

	}

	/**
	 * Finds the connection of each message, as an inbound gateway does.
	 */
	private static final class EchoGateway implements TcpListener, TcpSender {

		private final Runnable work;

		private final Map<String, TcpConnection> connections = new ConcurrentHashMap<>();

		EchoGateway(Runnable work) {
			this.work = work;
		}

		@Override
		public void onMessage(Message<?> message) {
			// Also called with an error when the connection fails.
			if (!(message.getPayload() instanceof byte[] line)) {
				return;
			}
			this.work.run();
			String id = message.getHeaders().get(IpHeaders.CONNECTION_ID, String.class);
			TcpConnection connection = (id != null) ? this.connections.get(id) : null;
			if (connection != null) {
				connection.send(MessageBuilder.withPayload(withoutCarriageReturn(line)).build());
			}
		}

		private static byte[] withoutCarriageReturn(byte[] line) {
			int length = line.length;
			return (length > 0 && line[length - 1] == '\r') ? Arrays.copyOf(line, length - 1) : line;
		}

		@Override
		public void addNewConnection(TcpConnection connection) {
			this.connections.put(connection.getConnectionId(), connection);
		}

		@Override
		public void removeDeadConnection(TcpConnection connection) {
			this.connections.remove(connection.getConnectionId());
		}

	}

}
