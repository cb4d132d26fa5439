package org.leaderfollowers.spring.observation;

import io.micrometer.common.KeyValue;
import io.micrometer.common.KeyValues;
import org.leaderfollowers.spring.observation.MessageObservationDocumentation.LowCardinalityKeyNames;

/**
 * What is said of all messages of one handler of one server, made once and not for each
 * message.
 */
final class MessageKeyValues {

	private static final KeyValue SUCCESS = KeyValue.of(LowCardinalityKeyNames.OUTCOME, "success");

	private static final KeyValue ERROR = KeyValue.of(LowCardinalityKeyNames.OUTCOME, "error");

	private final String contextualName;

	private final KeyValues success;

	private final KeyValues error;

	MessageKeyValues(String server, String handler) {
		KeyValues keyValues = KeyValues.of(KeyValue.of(LowCardinalityKeyNames.SERVER, server),
				KeyValue.of(LowCardinalityKeyNames.HANDLER, handler));
		this.contextualName = server + " message";
		this.success = keyValues.and(SUCCESS);
		this.error = keyValues.and(ERROR);
	}

	String contextualName() {
		return this.contextualName;
	}

	/** If the handler has returned, or still runs. */
	KeyValues success() {
		return this.success;
	}

	/** If the handler has thrown something. */
	KeyValues error() {
		return this.error;
	}

}
