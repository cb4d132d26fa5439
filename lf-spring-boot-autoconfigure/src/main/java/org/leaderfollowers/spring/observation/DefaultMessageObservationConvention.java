package org.leaderfollowers.spring.observation;

import io.micrometer.common.KeyValue;
import io.micrometer.common.KeyValues;
import org.leaderfollowers.spring.observation.MessageObservationDocumentation.LowCardinalityKeyNames;

/**
 * Default {@link MessageObservationConvention}: the name {@code lf.messages} and the keys
 * of {@link LowCardinalityKeyNames}.
 */
public class DefaultMessageObservationConvention implements MessageObservationConvention {

	private static final KeyValue SUCCESS = KeyValue.of(LowCardinalityKeyNames.OUTCOME, "success");

	private static final KeyValue ERROR = KeyValue.of(LowCardinalityKeyNames.OUTCOME, "error");

	/**
	 * Creates a new convention.
	 */
	public DefaultMessageObservationConvention() {
	}

	@Override
	public String getName() {
		return "lf.messages";
	}

	@Override
	public String getContextualName(MessageObservationContext context) {
		return context.getServer() + " message";
	}

	@Override
	public KeyValues getLowCardinalityKeyValues(MessageObservationContext context) {
		return KeyValues.of(KeyValue.of(LowCardinalityKeyNames.SERVER, context.getServer()),
				KeyValue.of(LowCardinalityKeyNames.HANDLER, context.getHandler()),
				(context.getError() != null) ? ERROR : SUCCESS);
	}

}
