package org.leaderfollowers.spring.cluster;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.OwedReply;
import org.leaderfollowers.Suspension;

/** The connection of a device that answers each request at once. */
final class SimulatedDevice implements Connection {

	private final CompletableFuture<CloseReason> end = new CompletableFuture<>();

	private final ConcurrentMap<String, Object> attributes = new ConcurrentHashMap<>();

	/** What it was sent. */
	final List<String> received = new ArrayList<>();

	/** What a request ends with, if not with itself. */
	@Nullable CompletableFuture<ByteBuffer> reply;

	/** That of the latest request. */
	@Nullable Duration timeout;

	/** Is told of each message. */
	Consumer<String> observer = (message) -> {
	};

	private String name;

	@Override
	public long id() {
		return 1;
	}

	@Override
	public void send(ByteBuffer message) {
		String text = StandardCharsets.UTF_8.decode(message.duplicate()).toString();
		this.received.add(text);
		this.observer.accept(text);
	}

	@Override
	public CompletableFuture<ByteBuffer> exchangeAsync(ByteBuffer request, Duration timeout) {
		send(request);
		this.timeout = timeout;
		return (this.reply != null) ? this.reply : CompletableFuture.completedFuture(request.duplicate());
	}

	@Override
	public void close() {
		close(CloseReason.LOCAL);
	}

	@Override
	public void close(CloseReason reason) {
		this.end.complete(reason);
	}

	@Override
	public @Nullable CloseReason closeReason() {
		return this.end.getNow(null);
	}

	@Override
	public CompletableFuture<CloseReason> whenClosed() {
		return this.end;
	}

	@Override
	public boolean isOpen() {
		return !this.end.isDone();
	}

	@Override
	public boolean isWritable() {
		return true;
	}

	@Override
	public @Nullable String name() {
		return this.name;
	}

	@Override
	public @Nullable Connection name(String newName) {
		this.name = newName;
		return null;
	}

	@Override
	public ConcurrentMap<String, Object> attributes() {
		return this.attributes;
	}

	@Override
	public String server() {
		return "default";
	}

	@Override
	public long pendingBytes() {
		return 0;
	}

	@Override
	public void fail(Throwable failure) {
		throw new UnsupportedOperationException();
	}

	@Override
	public Suspension suspend() {
		throw new UnsupportedOperationException();
	}

	@Override
	public OwedReply owe() {
		throw new UnsupportedOperationException();
	}

	@Override
	public InetSocketAddress remoteAddress() {
		throw new UnsupportedOperationException();
	}

	@Override
	public InetSocketAddress localAddress() {
		throw new UnsupportedOperationException();
	}

}
