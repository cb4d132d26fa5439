package org.leaderfollowers.spring.test.app;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.handler.ErrorReply;
import org.leaderfollowers.spring.handler.LfErrorHandler;

import org.springframework.stereotype.Component;

@Component
class RefusalHandler implements LfErrorHandler {

	@Override
	public @Nullable ErrorReply handle(Connection connection, Throwable failure) {
		return connection.server().equals("orders") ? ErrorReply.of("refused by " + failure.getClass().getSimpleName())
				: null;
	}

}
