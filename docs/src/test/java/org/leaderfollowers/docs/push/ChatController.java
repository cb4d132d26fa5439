package org.leaderfollowers.docs.push;

import org.leaderfollowers.spring.handler.LfConnections;

import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

// tag::controller[]
@RestController
class ChatController {

	private final LfConnections connections;

	ChatController(LfConnections connections) {
		this.connections = connections;
	}

	@PostMapping("/members/{name}/messages")
	void send(@PathVariable String name, @RequestBody String text) {
		switch (this.connections.send("chat", name, text)) {
			case GONE -> throw new ResponseStatusException(HttpStatus.NOT_FOUND);
			case NOT_WRITABLE -> throw new ResponseStatusException(HttpStatus.SERVICE_UNAVAILABLE);
			case SENT -> {
			}
		}
	}

}
// end::controller[]
