package org.leaderfollowers.spring.observation;

import io.micrometer.common.KeyValues;
import org.leaderfollowers.spring.observation.MessageObservationDocumentation.HighCardinalityKeyNames;
import org.leaderfollowers.spring.observation.MessageObservationDocumentation.LowCardinalityKeyNames;

/**
 * Default {@link MessageObservationConvention}: the name {@code lf.messages}, and the
 * keys of {@link LowCardinalityKeyNames} and {@link HighCardinalityKeyNames}. Spans are
 * named after the server, {@code orders message}.
 */
public class DefaultMessageObservationConvention implements MessageObservationConvention {

	static final String NAME = "lf.messages";

	/**
	 * Creates a new convention.
	 */
	public DefaultMessageObservationConvention() {
	}

	@Override
	public String getName() {
		return NAME;
	}

	@Override
	public String getContextualName(MessageObservationContext context) {
		return context.keyValues().contextualName();
	}

	@Override
	public KeyValues getLowCardinalityKeyValues(MessageObservationContext context) {
		return (context.getError() != null) ? context.keyValues().error() : context.keyValues().success();
	}

	@Override
	public KeyValues getHighCardinalityKeyValues(MessageObservationContext context) {
		return context.connectionKeyValues();
	}

}
