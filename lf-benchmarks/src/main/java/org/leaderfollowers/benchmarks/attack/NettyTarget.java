package org.leaderfollowers.benchmarks.attack;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.LineBasedFrameDecoder;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.timeout.ReadTimeoutHandler;
import io.netty.handler.timeout.WriteTimeoutHandler;
import org.jspecify.annotations.Nullable;

/**
 * Netty with its defaults, and with what its documentation recommends against clients
 * that misbehave: a longest line, timeouts for reading and writing, and no reading while
 * the client does not read.
 */
final class NettyTarget {

	private static final int TIMEOUT_SECONDS = 30;

	private NettyTarget() {
	}

	static String start(Certificate certificate) throws IOException {
		EventLoopGroup loops = new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory());
		SslContext tls = SslContextBuilder.forServer(certificate.keyManagers()).build();
		return listen(loops, null) + " " + listen(loops, tls);
	}

	private static int listen(EventLoopGroup loops, @Nullable SslContext tls) {
		Echo echo = new Echo();
		Channel channel = new ServerBootstrap().group(loops)
			.channel(NioServerSocketChannel.class)
			.childHandler(new ChannelInitializer<Channel>() {

				@Override
				protected void initChannel(Channel accepted) {
					if (tls != null) {
						accepted.pipeline().addLast(tls.newHandler(accepted.alloc()));
					}
					accepted.pipeline()
						.addLast(new ReadTimeoutHandler(TIMEOUT_SECONDS))
						.addLast(new WriteTimeoutHandler(TIMEOUT_SECONDS))
						.addLast(new LineBasedFrameDecoder(Wire.LONGEST, false, true))
						.addLast(echo);
				}

			})
			.bind(InetAddress.getLoopbackAddress(), 0)
			.syncUninterruptibly()
			.channel();
		return ((InetSocketAddress) channel.localAddress()).getPort();
	}

	@Sharable
	private static final class Echo extends ChannelInboundHandlerAdapter {

		@Override
		public void channelRead(ChannelHandlerContext context, Object message) {
			context.write((ByteBuf) message);
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
