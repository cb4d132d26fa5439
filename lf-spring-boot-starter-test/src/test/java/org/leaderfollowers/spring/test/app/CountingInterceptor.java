package org.leaderfollowers.spring.test.app;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;

import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.interceptor.MessageHandlerInterceptor;

import org.springframework.stereotype.Component;

@Component
class CountingInterceptor implements MessageHandlerInterceptor {

	final AtomicInteger messages = new AtomicInteger();

	@Override
	public void onMessage(Connection connection, ByteBuffer message, MessageHandler next) throws Exception {
		this.messages.incrementAndGet();
		next.onMessage(connection, message);
	}

}
