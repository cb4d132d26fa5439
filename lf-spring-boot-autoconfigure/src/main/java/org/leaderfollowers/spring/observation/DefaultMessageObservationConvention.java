package org.leaderfollowers.spring.observation;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import io.micrometer.common.KeyValue;
import io.micrometer.common.KeyValues;
import org.leaderfollowers.spring.observation.MessageObservationDocumentation.HighCardinalityKeyNames;
import org.leaderfollowers.spring.observation.MessageObservationDocumentation.LowCardinalityKeyNames;

/**
 * Default {@link MessageObservationConvention}: the name {@code lf.messages}, and the
 * keys of {@link LowCardinalityKeyNames} and {@link HighCardinalityKeyNames}. Spans are
 * named after the server, {@code orders message}.
 */
public class DefaultMessageObservationConvention implements MessageObservationConvention {

	private static final KeyValue SUCCESS = KeyValue.of(LowCardinalityKeyNames.OUTCOME, "success");

	private static final KeyValue ERROR = KeyValue.of(LowCardinalityKeyNames.OUTCOME, "error");

	/** Created once for each server, because a server has one handler. */
	private final Map<String, HandlerKeyValues> byServer = new ConcurrentHashMap<>();

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
		return keyValues(context).contextualName();
	}

	@Override
	public KeyValues getLowCardinalityKeyValues(MessageObservationContext context) {
		HandlerKeyValues keyValues = keyValues(context);
		return (context.getError() != null) ? keyValues.error() : keyValues.success();
	}

	@Override
	public KeyValues getHighCardinalityKeyValues(MessageObservationContext context) {
		return context.connectionKeyValues();
	}

	private HandlerKeyValues keyValues(MessageObservationContext context) {
		HandlerKeyValues keyValues = this.byServer.get(context.getServer());
		if (keyValues == null || !keyValues.handler().equals(context.getHandler())) {
			keyValues = HandlerKeyValues.of(context);
			this.byServer.put(context.getServer(), keyValues);
		}
		return keyValues;
	}

	/**
	 * The key values that all messages of one handler of one server share.
	 *
	 * @param handler the name of the handler
	 * @param contextualName the name of spans
	 * @param success the key values while the handler runs, and after it has returned
	 * @param error the key values after the handler has thrown an exception
	 */
	private record HandlerKeyValues(String handler, String contextualName, KeyValues success, KeyValues error) {

		static HandlerKeyValues of(MessageObservationContext context) {
			KeyValues common = KeyValues.of(KeyValue.of(LowCardinalityKeyNames.SERVER, context.getServer()),
					KeyValue.of(LowCardinalityKeyNames.HANDLER, context.getHandler()));
			return new HandlerKeyValues(context.getHandler(), context.getServer() + " message", common.and(SUCCESS),
					common.and(ERROR));
		}

	}

}
