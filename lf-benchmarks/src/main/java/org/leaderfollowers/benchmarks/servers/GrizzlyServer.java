package org.leaderfollowers.benchmarks.servers;

import java.io.IOException;
import java.net.InetSocketAddress;

import org.glassfish.grizzly.Buffer;
import org.glassfish.grizzly.filterchain.BaseFilter;
import org.glassfish.grizzly.filterchain.FilterChainBuilder;
import org.glassfish.grizzly.filterchain.FilterChainContext;
import org.glassfish.grizzly.filterchain.NextAction;
import org.glassfish.grizzly.filterchain.TransportFilter;
import org.glassfish.grizzly.nio.transport.TCPNIOServerConnection;
import org.glassfish.grizzly.nio.transport.TCPNIOTransport;
import org.glassfish.grizzly.nio.transport.TCPNIOTransportBuilder;
import org.glassfish.grizzly.strategies.LeaderFollowerNIOStrategy;
import org.glassfish.grizzly.threadpool.ThreadPoolConfig;

/**
 * Grizzly with its Leader/Followers strategy, the one that is in use elsewhere: it hands
 * the selector to another thread of the pool as a task, and changes the interest of the
 * channel around each event.
 */
final class GrizzlyServer implements EchoServer {

	private final TCPNIOTransport transport;

	private final int port;

	GrizzlyServer(ServerOptions options, Runnable work) throws IOException {
		ThreadPoolConfig workers = ThreadPoolConfig.defaultConfig()
			.copy()
			.setPoolName("grizzly-worker")
			.setCorePoolSize(options.threads())
			.setMaxPoolSize(options.threads());
		this.transport = TCPNIOTransportBuilder.newInstance()
			.setIOStrategy(LeaderFollowerNIOStrategy.getInstance())
			.setWorkerThreadPoolConfig(workers)
			.setTcpNoDelay(true)
			.setServerConnectionBackLog(Loopback.BACKLOG)
			.setProcessor(FilterChainBuilder.stateless()
				.add(new TransportFilter())
				.add(new EchoFilter(work, options.maxMessage()))
				.build())
			.build();
		TCPNIOServerConnection listening = this.transport.bind(Loopback.anyPort());
		this.transport.start();
		this.port = ((InetSocketAddress) listening.getLocalAddress()).getPort();
	}

	@Override
	public int port() {
		return this.port;
	}

	@Override
	public void close() {
		try {
			this.transport.shutdownNow();
		}
		catch (IOException ex) {
			Failures.report("The transport could not be closed", ex);
		}
	}

	/**
	 * Answers the lines of a read in place, as {@link LineEcho} does, and writes the
	 * buffer that was read.
	 */
	private static final class EchoFilter extends BaseFilter {

		private final Runnable work;

		private final int maxMessage;

		EchoFilter(Runnable work, int maxMessage) {
			this.work = work;
			this.maxMessage = maxMessage;
		}

		@Override
		public NextAction handleRead(FilterChainContext context) throws IOException {
			Buffer input = context.getMessage();
			int start = input.position();
			int end = input.limit();
			int line = start;
			int reply = start;
			for (int i = start; i < end; i++) {
				if (input.get(i) != '\n') {
					continue;
				}
				int length = i - line;
				if (length > 0 && input.get(i - 1) == '\r') {
					length--;
				}
				checkLength(length);
				this.work.run();
				if (reply != line) {
					move(input, line, reply, length);
				}
				reply += length;
				input.put(reply++, (byte) '\n');
				line = i + 1;
			}
			checkLength(end - line - 1);
			if (line == start) {
				return context.getStopAction(input);
			}
			Buffer rest = (line < end) ? input.split(line) : null;
			input.limit(reply);
			// The buffer goes back to the pool after it has been written.
			input.allowBufferDispose(true);
			context.write(input);
			return (rest != null) ? context.getStopAction(rest) : context.getStopAction();
		}

		private static void move(Buffer buffer, int from, int to, int length) {
			for (int i = 0; i < length; i++) {
				buffer.put(to + i, buffer.get(from + i));
			}
		}

		private void checkLength(int length) throws IOException {
			if (length > this.maxMessage) {
				throw new IOException("A line of " + length + " bytes is too long");
			}
		}

		@Override
		public void exceptionOccurred(FilterChainContext context, Throwable error) {
			context.getConnection().closeSilently();
		}

	}

}
