package org.leaderfollowers.spring.test.client;

import java.time.Duration;
import java.util.Arrays;

import org.assertj.core.api.AbstractAssert;
import org.assertj.core.api.AbstractByteArrayAssert;
import org.assertj.core.api.AbstractStringAssert;
import org.assertj.core.api.Assertions;
import org.leaderfollowers.spring.test.client.Reception.Outcome;

import org.springframework.test.json.JsonContent;
import org.springframework.test.json.JsonContentAssert;

/**
 * Assertions for a {@link LfTestClient}. Assertions that receive wait up to the timeout
 * of the client and take the received message, so the next assertion checks the next
 * message.
 */
public final class LfTestClientAssert extends AbstractAssert<LfTestClientAssert, LfTestClient> {

	LfTestClientAssert(LfTestClient actual) {
		super(actual, LfTestClientAssert.class);
	}

	/**
	 * Verifies the next messages and their order.
	 * @param expected the payloads, as text
	 * @return this assertion
	 */
	public LfTestClientAssert receives(String... expected) {
		for (int i = 0; i < expected.length; i++) {
			String position = (expected.length == 1) ? "" : " as message %d of %d".formatted(i + 1, expected.length);
			receives(expected[i].getBytes(this.actual.charset()), position);
		}
		return this;
	}

	/**
	 * Verifies the next message.
	 * @param expected the payload
	 * @return this assertion
	 */
	public LfTestClientAssert receivesBytes(byte... expected) {
		receives(expected, "");
		return this;
	}

	private void receives(byte[] expected, String position) {
		isNotNull();
		Duration timeout = this.actual.timeout();
		Reception reception = this.actual.take(timeout);
		if (!reception.isMessage() || !Arrays.equals(reception.bytes(), expected)) {
			fail("%nExpecting %s%nto receive%s within %s:%n  %s%nbut %s", reception, this.actual, position,
					LfTestClient.seconds(timeout), Printable.describe(expected, this.actual.charset()),
					describe(reception));
		}
	}

	/**
	 * Takes the next message for further assertions.
	 * @return assertions for its payload, as text
	 */
	public AbstractStringAssert<?> nextMessage() {
		isNotNull();
		return Assertions.assertThat(this.actual.receive()).as("the next message of %s", this.actual);
	}

	/**
	 * Verifies that the next message is equal to a JSON document. The comparison is
	 * lenient: the order of fields does not matter, and the message may have further
	 * fields.
	 * @param expected the JSON document, or the location of a resource that ends in
	 * {@code .json}
	 * @return this assertion
	 */
	public LfTestClientAssert receivesJson(String expected) {
		nextMessageAsJson().isLenientlyEqualTo(expected);
		return this;
	}

	/**
	 * Takes the next message for further assertions about its JSON.
	 * @return assertions for its payload, for example by JSON paths
	 */
	public JsonContentAssert nextMessageAsJson() {
		isNotNull();
		return new JsonContentAssert(new JsonContent(this.actual.receive())).as("the next message of %s", this.actual);
	}

	/**
	 * Takes the next message for further assertions.
	 * @return assertions for its payload
	 */
	public AbstractByteArrayAssert<?> nextMessageBytes() {
		isNotNull();
		return Assertions.assertThat(this.actual.receiveBytes()).as("the next message of %s", this.actual);
	}

	/**
	 * Verifies that no message has arrived and that the connection is open. Over a
	 * network, this method waits for a fifth of a second. In memory it does not wait,
	 * because a handler has answered when {@code send} returns.
	 * @return this assertion
	 */
	public LfTestClientAssert receivesNothing() {
		isNotNull();
		return receivesNothingFor(this.actual.silence());
	}

	/**
	 * Verifies that no message arrives and that the connection stays open.
	 * @param duration how long to wait
	 * @return this assertion
	 */
	public LfTestClientAssert receivesNothingFor(Duration duration) {
		isNotNull();
		Reception reception = this.actual.take(duration);
		if (reception.outcome() != Outcome.SILENCE || reception.bytes().length > 0) {
			fail("%nExpecting %s%nto receive nothing for %s, but %s", reception, this.actual,
					LfTestClient.seconds(duration), describe(reception));
		}
		return this;
	}

	/**
	 * Verifies that the server closes the connection, and that no message is left to
	 * receive.
	 * @return this assertion
	 * @throws UnsupportedOperationException if the client sends datagrams, so that it has
	 * no connection
	 */
	public LfTestClientAssert isClosedByServer() {
		isNotNull();
		if (this.actual instanceof UdpTestClient) {
			throw new UnsupportedOperationException(
					"%s has no connection that could be closed: it sends datagrams".formatted(this.actual));
		}
		Duration timeout = this.actual.timeout();
		Reception reception = this.actual.take(timeout);
		if (reception.outcome() != Outcome.CLOSED || reception.bytes().length > 0) {
			fail("%nExpecting %s%nto be closed by the server within %s, but %s", reception, this.actual,
					LfTestClient.seconds(timeout), describe(reception));
		}
		return this;
	}

	private String describe(Reception reception) {
		return reception.describe(this.actual.charset());
	}

	private void fail(String format, Reception reception, Object... arguments) {
		throw new AssertionError(failure(format, arguments).getMessage(), reception.cause());
	}

}
