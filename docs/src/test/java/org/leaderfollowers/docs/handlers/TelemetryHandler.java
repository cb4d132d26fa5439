package org.leaderfollowers.docs.handlers;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;

// tag::handler[]
@LfHandler(server = "telemetry")
class TelemetryHandler {

	@OnMessage
	String measured(Temperature temperature) {
		return temperature.celsius() + " degrees";
	}

	@OnMessage
	String moved(Position position) {
		return "at " + position.latitude() + ", " + position.longitude();
	}

	@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "kind")
	@JsonSubTypes({ @JsonSubTypes.Type(value = Temperature.class, name = "temperature"),
			@JsonSubTypes.Type(value = Position.class, name = "position") })
	sealed interface Event {

	}

	record Temperature(int celsius) implements Event {
	}

	record Position(int latitude, int longitude) implements Event {
	}

}
// end::handler[]
