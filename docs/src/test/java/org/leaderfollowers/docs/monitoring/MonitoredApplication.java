package org.leaderfollowers.docs.monitoring;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;

import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.LfHandler;

import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.micrometer.tracing.autoconfigure.MicrometerTracingAutoConfiguration;
import org.springframework.boot.micrometer.tracing.autoconfigure.NoopTracerAutoConfiguration;
import org.springframework.boot.micrometer.tracing.opentelemetry.autoconfigure.OpenTelemetryTracingAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * An application that gives all meters something to count: a server without TLS, one with
 * TLS, one for datagrams, and one with a pool of two threads that get stuck.
 * <p>
 * It excludes the tracer that other tests of this module need: with a tracer, meters have
 * exemplars, and Prometheus 2.42 rejects a scrape in which counters have exemplars.
 */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration(exclude = { MicrometerTracingAutoConfiguration.class, NoopTracerAutoConfiguration.class,
		OpenTelemetryTracingAutoConfiguration.class })
class MonitoredApplication {

	@Bean
	@LfHandler
	MessageHandler echo() {
		return (connection, message) -> {
			if (StandardCharsets.UTF_8.decode(message.duplicate()).toString().equals("fail")) {
				throw new IllegalStateException("as asked for");
			}
			connection.send(message);
		};
	}

	@Bean
	@LfHandler(server = "secure")
	MessageHandler secureEcho() {
		return (connection, message) -> connection.send(message);
	}

	@Bean
	@LfHandler(server = "telemetry")
	MessageHandler acknowledgement() {
		return (connection, message) -> connection.send(ByteBuffer.wrap(new byte[] { 'o', 'k' }));
	}

	@Bean
	@LfHandler(server = "stuck")
	MessageHandler stuckHandler(CountDownLatch brokenThing) {
		return (connection, message) -> {
			brokenThing.await();
			connection.send(message);
		};
	}

	@Bean
	CountDownLatch brokenThing() {
		return new CountDownLatch(1);
	}

}
