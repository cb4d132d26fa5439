package org.leaderfollowers.docs.sessions;

import java.time.Duration;

import org.leaderfollowers.ExchangeException;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.spring.session.LfSessions;
import org.leaderfollowers.spring.session.SessionBroadcast;

import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;

// tag::controller[]
@RestController
class MeterController {

	private final LfSessions sessions;

	MeterController(LfSessions sessions) {
		this.sessions = sessions;
	}

	@GetMapping("/meters/{serialNumber}/reading")
	ResponseEntity<Object> read(@PathVariable String serialNumber) {
		try {
			return ResponseEntity
				.ok(this.sessions.exchange(serialNumber, "READ", Reading.class, Duration.ofSeconds(5)));
		}
		catch (ExchangeRejectedException ex) {
			return ResponseEntity.status(409).body("The meter is not connected");
		}
		catch (ExchangeException ex) {
			return ResponseEntity.status(504).body("The meter has not answered");
		}
	}

	@PostMapping("/regions/{region}/messages")
	SessionBroadcast tell(@PathVariable String region, @RequestBody String text) {
		return this.sessions.broadcast("meters of " + region, text);
	}

	record Reading(long wattHours) {
	}

}
// end::controller[]
