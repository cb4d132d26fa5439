package org.leaderfollowers.spring.observation;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;

/**
 * {@link ObservationConvention} for the messages that handlers process. A bean of this
 * type replaces the {@link DefaultMessageObservationConvention}.
 */
public interface MessageObservationConvention extends ObservationConvention<MessageObservationContext> {

	@Override
	default boolean supportsContext(Observation.Context context) {
		return context instanceof MessageObservationContext;
	}

}
