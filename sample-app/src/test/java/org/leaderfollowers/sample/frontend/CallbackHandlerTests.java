package org.leaderfollowers.sample.frontend;

import java.nio.ByteBuffer;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.sample.tier.ConfirmationRequest;
import org.leaderfollowers.sample.tier.TierProtocol;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.verifyNoInteractions;

/**
 * Tests for {@link CallbackHandler}.
 */
class CallbackHandlerTests {

	private static final byte REQUEST = 0;

	private static final byte REPLY = 1;

	private final Connection backEnd = mock();

	private final TierProtocol protocol = mock();

	private final BlockingQueue<Callback> callbacks = new LinkedBlockingQueue<>();

	private final CallbackHandler handler = new CallbackHandler(this.protocol, this.callbacks);

	@Test
	void questionOfBackEndIsQueued() {
		UUID order = UUID.randomUUID();
		ByteBuffer message = message(REQUEST);
		given(this.protocol.read(message, ConfirmationRequest.class)).willReturn(new ConfirmationRequest(order));
		this.handler.onMessage(this.backEnd, message);
		assertThat(this.callbacks).containsExactly(new Callback(this.backEnd, 7, order));
	}

	/** A failure would close the connection that other orders share. */
	@Test
	void lateResultIsIgnored() {
		this.handler.onMessage(this.backEnd, message(REPLY));
		assertThat(this.callbacks).isEmpty();
		verifyNoInteractions(this.protocol, this.backEnd);
	}

	private static ByteBuffer message(byte kind) {
		return ByteBuffer.allocate(Long.BYTES + 1).putLong(0, 7).put(Long.BYTES, kind);
	}

}
