package org.leaderfollowers.benchmarks.exchange;

import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.handler.codec.ByteToMessageCodec;

/** A typical client with Netty: a queue of the waiting futures, on the event loop. */
final class NettyClient implements Client {

	private static final long TIMEOUT_SECONDS = 5;

	private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, EpollIoHandler.newFactory());

	private final Channel channel;

	private record Call(byte[] request, CompletableFuture<byte[]> reply) {
	}

	NettyClient(int port) {
		this.channel = new Bootstrap().group(this.loops)
			.channel(EpollSocketChannel.class)
			.handler(new ChannelInitializer<Channel>() {

				@Override
				protected void initChannel(Channel created) {
					created.pipeline().addLast(new Calls());
				}

			})
			.connect("127.0.0.1", port)
			.syncUninterruptibly()
			.channel();
	}

	@Override
	public byte[] echo(byte[] text) throws Exception {
		Call call = new Call(Resp.echo(text), new CompletableFuture<>());
		this.channel.writeAndFlush(call, this.channel.voidPromise());
		return call.reply().get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
	}

	@Override
	public void close() {
		this.channel.close();
		this.loops.shutdownGracefully();
	}

	private static final class Calls extends ByteToMessageCodec<Call> {

		private final Queue<CompletableFuture<byte[]>> waiting = new ArrayDeque<>();

		@Override
		public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
			Call call = (Call) message;
			this.waiting.add(call.reply());
			context.write(Unpooled.wrappedBuffer(call.request()), promise);
		}

		@Override
		protected void encode(ChannelHandlerContext context, Call call, ByteBuf out) {
			throw new UnsupportedOperationException("write() does it without a copy");
		}

		@Override
		protected void decode(ChannelHandlerContext context, ByteBuf in, List<Object> out) {
			int start = in.readerIndex();
			int line = in.bytesBefore((byte) '\r');
			if (line < 0) {
				return;
			}
			int length = 0;
			for (int i = start + 1; i < start + line; i++) {
				length = length * 10 + in.getByte(i) - '0';
			}
			int frame = line + 2 + length + 2;
			if (in.readableBytes() < frame) {
				return;
			}
			byte[] text = new byte[length];
			in.getBytes(start + line + 2, text);
			in.skipBytes(frame);
			CompletableFuture<byte[]> reply = this.waiting.poll();
			if (reply != null) {
				reply.complete(text);
			}
		}

	}

}
