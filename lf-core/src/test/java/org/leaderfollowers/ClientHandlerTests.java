package org.leaderfollowers;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that the application's handler of a client receives every call.
 */
class ClientHandlerTests {

	private final List<String> calls = new ArrayList<>();

	private final MessageHandler application = (MessageHandler) Proxy.newProxyInstance(getClass().getClassLoader(),
			new Class<?>[] { MessageHandler.class }, (proxy, method, arguments) -> this.calls.add(method.toString()));

	/** Except for the first one, which needs a connection. */
	@Test
	void everyCallReachesTheApplication() throws Exception {
		ClientHandler handler = new ClientHandler(this.application, new ClientCounters(1), null);
		ByteBuffer message = ByteBuffer.allocate(1);
		Exception failure = new Exception("made for the test");
		handler.onMessage(null, message);
		handler.onWritable(null);
		handler.onIdle(null, EventType.READ);
		handler.onDrain(null);
		handler.onError(null, failure);
		handler.onError(null, message, failure);
		handler.onClose(null, CloseReason.PEER);
		List<String> expected = new ArrayList<>();
		for (Method method : MessageHandler.class.getMethods()) {
			if (!method.getName().equals("onOpen")) {
				expected.add(method.toString());
			}
		}
		assertThat(this.calls).containsExactlyInAnyOrderElementsOf(expected);
	}

}
