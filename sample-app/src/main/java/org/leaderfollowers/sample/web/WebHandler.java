package org.leaderfollowers.sample.web;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.FramingException;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.Suspension;
import org.leaderfollowers.sample.Tiers;
import org.leaderfollowers.spring.annotation.LfHandler;

import org.springframework.context.annotation.Profile;

/**
 * The concrete event handler of the web server: each message is the head of a request,
 * and the reply is a file. The requests of one connection are handled one at a time and
 * in order, so clients may pipeline.
 */
@LfHandler(server = "web")
@Profile(Tiers.FRONT_END)
class WebHandler implements MessageHandler {

	private static final byte[] NO_CONTENT = {};

	private final StaticFiles files;

	private final Map<Connection, FileTransfer> transfers = new ConcurrentHashMap<>();

	WebHandler(StaticFiles files) {
		this.files = files;
	}

	// tag::message[]
	@Override
	public void onMessage(Connection connection, ByteBuffer message) throws IOException {
		HttpRequest request = HttpRequest.parse(StandardCharsets.ISO_8859_1.decode(message).toString());
		boolean isHead = request.method().equals("HEAD");
		if (!isHead && !request.method().equals("GET")) {
			sendText(connection, request, HttpStatus.METHOD_NOT_ALLOWED, "Only GET and HEAD are allowed");
			return;
		}
		StaticFile file = this.files.find(request.path());
		if (file == null) {
			sendText(connection, request, HttpStatus.NOT_FOUND, "There is no such file");
		}
		else if (file.isKnownBy(request)) {
			send(connection, request, HttpStatus.NOT_MODIFIED, file.validators(), NO_CONTENT);
		}
		else if (isHead || file.content() != null) {
			send(connection, request, HttpStatus.OK, file.headers(), isHead ? NO_CONTENT : file.content());
		}
		else {
			stream(connection, request, file);
		}
	}
	// end::message[]

	private void sendText(Connection connection, @Nullable HttpRequest request, HttpStatus status, String text) {
		byte[] content = (text + "\n").getBytes(StandardCharsets.UTF_8);
		String headers = "Content-Type: text/plain; charset=utf-8\r\nContent-Length: %s\r\n".formatted(content.length)
				+ ((status == HttpStatus.METHOD_NOT_ALLOWED) ? "Allow: GET, HEAD\r\n" : "");
		boolean isHead = request != null && request.method().equals("HEAD");
		send(connection, request, status, headers, isHead ? NO_CONTENT : content);
	}

	/**
	 * Sends a response, and closes the connection if it is the last one.
	 */
	private void send(Connection connection, @Nullable HttpRequest request, HttpStatus status, String headers,
			byte[] content) {
		if (!sendResponse(connection, request, status, headers, content)) {
			connection.close();
		}
	}

	// tag::persist[]
	/**
	 * Sends a response, or its head.
	 * @return whether the connection persists. If the server drains, it does not persist.
	 * The response says so, so that the client does not expect answers to further
	 * requests
	 */
	private boolean sendResponse(Connection connection, @Nullable HttpRequest request, HttpStatus status,
			String headers, byte[] content) {
		boolean persists = request != null && request.isPersistent() && !connection.isDraining();
		// end::persist[]
		StringBuilder head = new StringBuilder(256).append("HTTP/1.1 ")
			.append(status)
			.append("\r\nDate: ")
			.append(HttpDate.now())
			.append("\r\nX-Content-Type-Options: nosniff\r\n")
			.append(headers);
		if (!persists) {
			head.append("Connection: close\r\n");
		}
		else if (!request.persistentByDefault()) {
			head.append("Connection: keep-alive\r\n");
		}
		byte[] bytes = head.append("\r\n").toString().getBytes(StandardCharsets.ISO_8859_1);
		connection.send(ByteBuffer.allocate(bytes.length + content.length).put(bytes).put(content).flip());
		return persists;
	}

	// tag::stream[]
	/**
	 * Sends a large file as fast as the client reads. Until it has been sent, no further
	 * request of the connection is handled, and no thread waits.
	 */
	private void stream(Connection connection, HttpRequest request, StaticFile file) throws IOException {
		FileTransfer transfer = new FileTransfer(file.open(), file.length());
		this.transfers.put(connection, transfer);
		Suspension suspension = connection.suspend();
		boolean persists = sendResponse(connection, request, HttpStatus.OK, file.headers(), NO_CONTENT);
		transfer.whenComplete(persists ? suspension::resume : connection::close);
		onWritable(connection);
	}

	@Override
	public void onWritable(Connection connection) throws IOException {
		FileTransfer transfer = this.transfers.get(connection);
		if (transfer != null && transfer.proceed(connection)) {
			this.transfers.remove(connection);
			transfer.complete();
		}
	}

	@Override
	public void onClose(Connection connection, CloseReason reason) throws IOException {
		FileTransfer transfer = this.transfers.remove(connection);
		if (transfer != null) {
			transfer.close();
		}
	}
	// end::stream[]

	/**
	 * Answers invalid and failed requests. In the middle of a file, only closing the
	 * connection can report the failure.
	 */
	@Override
	public void onError(Connection connection, Throwable failure) throws Exception {
		if (failure instanceof HttpException invalid) {
			sendText(connection, null, invalid.status(), String.valueOf(invalid.getMessage()));
			return;
		}
		MessageHandler.super.onError(connection, failure);
		if (failure instanceof FramingException) {
			sendText(connection, null, HttpStatus.BAD_REQUEST, "This is not a request of HTTP");
		}
	}

	@Override
	public void onError(Connection connection, ByteBuffer message, Throwable failure) throws Exception {
		onError(connection, failure);
		if (!(failure instanceof FramingException) && !this.transfers.containsKey(connection)) {
			sendText(connection, null, HttpStatus.INTERNAL_SERVER_ERROR, "The file cannot be read");
		}
	}

}
