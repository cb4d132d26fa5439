package org.leaderfollowers.docs.handlers;

import java.util.concurrent.atomic.AtomicLong;

import jakarta.validation.Valid;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.Positive;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnClose;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.annotation.OnOpen;
import org.leaderfollowers.spring.handler.LfHeaders;
import org.leaderfollowers.spring.handler.PayloadConversionException;
import org.leaderfollowers.spring.handler.PayloadValidationException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.messaging.handler.annotation.Header;
import org.springframework.validation.FieldError;
import org.springframework.validation.ObjectError;

// tag::handler[]
@LfHandler(server = "orders")
class OrderHandler {

	private static final Logger logger = LoggerFactory.getLogger(OrderHandler.class);

	private final AtomicLong numbers = new AtomicLong();

	@OnOpen
	void opened(Connection connection, @Header(LfHeaders.REMOTE_ADDRESS) String client) {
		connection.attributes().put("client", client);
	}

	@OnMessage
	Receipt place(@Valid Order order, @Header String client) {
		logger.debug("{} orders {}", client, order);
		return new Receipt(this.numbers.incrementAndGet());
	}

	// tag::errors[]
	@OnError
	Problem malformed(PayloadConversionException ex) {
		return new Problem("This is no order");
	}

	@OnError
	Problem invalid(PayloadValidationException ex) {
		ObjectError error = ex.getErrors().getAllErrors().get(0);
		return new Problem((error instanceof FieldError field) ? field.getField() : error.getObjectName());
	}
	// end::errors[]

	@OnClose
	void closed(CloseReason reason, @Header String client) {
		logger.debug("{} has gone: {}", client, reason);
	}

	record Order(@NotBlank String item, @Positive int quantity) {
	}

	record Receipt(long number) {
	}

	record Problem(String problem) {
	}

}
// end::handler[]
