package org.leaderfollowers.spring.test.app;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;

@LfHandler(source = "alarms")
class AlarmHandler {

	final BlockingQueue<String> alarms = new LinkedBlockingQueue<>();

	@OnMessage
	void alarm(String alarm) {
		this.alarms.add(alarm);
	}

}
