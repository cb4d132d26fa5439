package org.leaderfollowers.spring.observation;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;

/**
 * {@link ObservationConvention} for the exchanges of clients. A bean of this type
 * replaces the {@link DefaultExchangeObservationConvention}.
 */
public interface ExchangeObservationConvention extends ObservationConvention<ExchangeObservationContext> {

	@Override
	default boolean supportsContext(Observation.Context context) {
		return context instanceof ExchangeObservationContext;
	}

}
