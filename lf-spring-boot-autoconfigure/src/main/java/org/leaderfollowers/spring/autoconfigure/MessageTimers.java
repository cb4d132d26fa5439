package org.leaderfollowers.spring.autoconfigure;

import io.micrometer.common.KeyValues;
import io.micrometer.core.instrument.MeterRegistry;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.observation.TimedMessageHandler;

/**
 * Times the messages of handlers without observations.
 *
 * @param registry where the timers are registered
 */
record MessageTimers(MeterRegistry registry) {

	MessageHandler decorate(MessageHandler handler, String server, String handlerName, KeyValues commonKeyValues) {
		return new TimedMessageHandler(handler, server, handlerName, this.registry, commonKeyValues);
	}

}
