package org.leaderfollowers.spring.test.app;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.spring.test.LfHandlerTest;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.ApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The handler of an event source belongs to a test that names it. Without the handler, as
 * in the other tests of this package, the source is not used.
 */
@LfHandlerTest(AlarmHandler.class)
@Timeout(120)
class EventSourceSliceTests {

	@Test
	void namedHandlerHandlesEvents(@Autowired BlockingQueue<String> alarmQueue, @Autowired AlarmHandler handler,
			@Autowired ApplicationContext context) throws InterruptedException {
		alarmQueue.add("fire");
		assertThat(handler.alarms.poll(60, TimeUnit.SECONDS)).isEqualTo("fire");
		assertThat(context.getBeanNamesForType(GreetingHandler.class)).isEmpty();
	}

}
