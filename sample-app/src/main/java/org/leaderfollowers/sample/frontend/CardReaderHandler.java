package org.leaderfollowers.sample.frontend;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

import org.leaderfollowers.Connection;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.sample.Tiers;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.session.LfSessions;
import org.leaderfollowers.spring.session.SessionContestedException;

import org.springframework.context.annotation.Profile;

/**
 * Card readers log in by name and wait for questions. A till asks any reader, whichever
 * front end of the cluster the reader is connected to. No thread waits for the answer.
 */
// tag::handler[]
@LfHandler(server = "readers")
@Profile(Tiers.FRONT_END)
class CardReaderHandler {

	private final LfSessions sessions;

	private final FrontEndProperties properties;

	CardReaderHandler(LfSessions sessions, FrontEndProperties properties) {
		this.sessions = sessions;
		this.properties = properties;
	}

	@OnMessage(prefix = "LOGIN ")
	String logIn(String name, Connection reader) {
		try {
			this.sessions.bind(reader, name);
			return "WELCOME " + name;
		}
		catch (SessionContestedException ex) {
			return "LATER";
		}
	}

	@OnMessage(prefix = "ASK ")
	CompletableFuture<String> ask(String nameAndQuestion) {
		String[] parts = nameAndQuestion.split(" ", 2);
		if (parts.length < 2) {
			throw new IllegalArgumentException("ASK needs a name and a question");
		}
		return this.sessions.exchangeAsync(parts[0], parts[1], String.class, this.properties.readerTimeout())
			.exceptionally((failure) -> {
				Throwable cause = (failure instanceof CompletionException) ? failure.getCause() : failure;
				// Only a rejected question has certainly not reached the reader.
				return ((cause instanceof ExchangeRejectedException) ? "FAILED " : "UNKNOWN ") + cause.getMessage();
			});
	}

	@OnMessage(isDefault = true)
	String other(String message) {
		return "INVALID Send LOGIN or ASK";
	}

	@OnError
	String invalid(IllegalArgumentException ex) {
		return "INVALID " + ex.getMessage();
	}

}
// end::handler[]
