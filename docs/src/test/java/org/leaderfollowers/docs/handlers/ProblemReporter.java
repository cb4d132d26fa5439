package org.leaderfollowers.docs.handlers;

import java.io.IOException;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.FramingException;
import org.leaderfollowers.spring.handler.ErrorReply;
import org.leaderfollowers.spring.handler.LfErrorHandler;

import org.springframework.core.annotation.Order;
import org.springframework.stereotype.Component;

// tag::handler[]
@Component
@Order(1)
class ProblemReporter implements LfErrorHandler {

	@Override
	public @Nullable ErrorReply handle(Connection connection, Throwable failure) {
		if (failure instanceof IllegalStateException) {
			return ErrorReply.of("ERROR try again");
		}
		if (failure instanceof FramingException) {
			return ErrorReply.of("ERROR malformed");
		}
		if (failure instanceof IOException) {
			return null;
		}
		return ErrorReply.of("ERROR internal").thenClose();
	}

}
// end::handler[]
