package org.leaderfollowers.benchmarks.servers;

import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.LineBasedFrameDecoder;
import io.netty.util.ResourceLeakDetector;
import io.netty.util.concurrent.DefaultEventExecutorGroup;
import io.netty.util.concurrent.EventExecutorGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import org.jspecify.annotations.Nullable;

/**
 * Netty, by default with two event loops for each processor. The handler runs on the
 * loop, where it must not block, or on a group of executors, which Netty provides for
 * handlers that block.
 */
final class NettyServer implements EchoServer {

	/** The default, an adaptive allocator, leaves some garbage for each message. */
	private static final PooledByteBufAllocator ALLOCATOR = PooledByteBufAllocator.DEFAULT;

	private static final long PATIENCE_SECONDS = 5;

	private final EventLoopGroup loops;

	private final @Nullable EventExecutorGroup executors;

	/**
	 * The ports, and the connections whose handlers are on executors: executors, unlike
	 * event loops, do not close their connections when they end.
	 */
	private final ChannelGroup channels = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);

	private final Class<? extends ServerChannel> channel;

	private final int maxMessage;

	private final int port;

	private NettyServer(IoHandlerFactory transport, Class<? extends ServerChannel> channel,
			@Nullable EventExecutorGroup executors, ServerOptions options, Runnable work) {
		// Detection samples allocations to find buffers that are not released; it is not
		// for production.
		ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
		this.loops = new MultiThreadIoEventLoopGroup(options.loops(), transport);
		this.executors = executors;
		this.channel = channel;
		this.maxMessage = options.maxMessage();
		this.port = open(work);
	}

	@Override
	public int open(Runnable work) {
		EchoHandler handler = new EchoHandler(work);
		Channel listening = new ServerBootstrap().group(this.loops)
			.channel(this.channel)
			.option(ChannelOption.SO_BACKLOG, Loopback.BACKLOG)
			.childOption(ChannelOption.TCP_NODELAY, true)
			.childOption(ChannelOption.ALLOCATOR, ALLOCATOR)
			.childHandler(new ChannelInitializer<Channel>() {

				// Deprecated, but without a replacement.
				@SuppressWarnings("deprecation")
				@Override
				protected void initChannel(Channel accepted) {
					// One byte more: a carriage return may come before its line feed.
					accepted.pipeline()
						.addLast(new LineBasedFrameDecoder(NettyServer.this.maxMessage + 1, false, true));
					if (NettyServer.this.executors != null) {
						NettyServer.this.channels.add(accepted);
						accepted.pipeline().addLast(NettyServer.this.executors, handler);
					}
					else {
						accepted.pipeline().addLast(handler);
					}
				}

			})
			.bind(Loopback.anyPort())
			.syncUninterruptibly()
			.channel();
		this.channels.add(listening);
		return ((InetSocketAddress) listening.localAddress()).getPort();
	}

	static EchoServer onEpoll(ServerOptions options, Runnable work) {
		return new NettyServer(EpollIoHandler.newFactory(), EpollServerSocketChannel.class, null, options, work);
	}

	static EchoServer onEpollAndExecutors(ServerOptions options, Runnable work) {
		return new NettyServer(EpollIoHandler.newFactory(), EpollServerSocketChannel.class,
				new DefaultEventExecutorGroup(options.threads()), options, work);
	}

	static EchoServer onNio(ServerOptions options, Runnable work) {
		return new NettyServer(NioIoHandler.newFactory(), NioServerSocketChannel.class, null, options, work);
	}

	static EchoServer onNioAndExecutors(ServerOptions options, Runnable work) {
		return new NettyServer(NioIoHandler.newFactory(), NioServerSocketChannel.class,
				new DefaultEventExecutorGroup(options.threads()), options, work);
	}

	static boolean hasEpoll() {
		return Epoll.isAvailable();
	}

	@Override
	public int port() {
		return this.port;
	}

	@Override
	public long ownDirectBytes() {
		return ALLOCATOR.metric().usedDirectMemory();
	}

	@Override
	public void close() {
		this.channels.close().awaitUninterruptibly(PATIENCE_SECONDS, TimeUnit.SECONDS);
		this.loops.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
		if (this.executors != null) {
			this.executors.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
		}
	}

	/**
	 * Writes each line when it is answered, but flushes only after the last line of a
	 * read.
	 */
	@Sharable
	private static final class EchoHandler extends ChannelInboundHandlerAdapter {

		private final Runnable work;

		EchoHandler(Runnable work) {
			this.work = work;
		}

		@Override
		public void channelRead(ChannelHandlerContext context, Object message) {
			ByteBuf line = (ByteBuf) message;
			this.work.run();
			// The line still has its end, so the reply needs no second buffer.
			int end = line.writerIndex();
			if (end > 1 && line.getByte(end - 2) == '\r') {
				line.setByte(end - 2, '\n').writerIndex(end - 1);
			}
			context.write(line, context.voidPromise());
		}

		@Override
		public void channelReadComplete(ChannelHandlerContext context) {
			context.flush();
		}

		@Override
		public void channelWritabilityChanged(ChannelHandlerContext context) {
			context.channel().config().setAutoRead(context.channel().isWritable());
			context.fireChannelWritabilityChanged();
		}

		@Override
		public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
			context.close();
		}

	}

}
