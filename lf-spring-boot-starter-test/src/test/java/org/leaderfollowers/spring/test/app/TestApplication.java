package org.leaderfollowers.spring.test.app;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

import org.leaderfollowers.EventSource;

import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;

@SpringBootApplication
class TestApplication {

	@Bean
	BlockingQueue<String> alarmQueue() {
		return new LinkedBlockingQueue<>();
	}

	@Bean
	EventSource<String> alarms(BlockingQueue<String> alarmQueue) {
		return EventSource.of(alarmQueue);
	}

}
