package org.leaderfollowers.docs.sources;

import java.util.concurrent.DelayQueue;

import org.leaderfollowers.EventSource;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

// tag::source[]
@Configuration(proxyBeanMethods = false)
class ReminderConfiguration {

	@Bean
	DelayQueue<Reminder> reminderQueue() {
		return new DelayQueue<>();
	}

	@Bean
	EventSource<Reminder> reminders(DelayQueue<Reminder> queue) {
		return EventSource.of(queue);
	}

}
// end::source[]
