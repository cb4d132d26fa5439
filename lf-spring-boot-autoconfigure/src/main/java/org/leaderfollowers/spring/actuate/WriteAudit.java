package org.leaderfollowers.spring.actuate;

import java.security.Principal;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.internal.Printable;

import org.springframework.boot.actuate.audit.listener.AuditApplicationEvent;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.context.ApplicationEventPublisher;

/**
 * Publishes each write that took place as an event for Boot's audit. Who listens, and
 * where it is kept, is the application's decision.
 */
final class WriteAudit {

	static final String POOL_CHANGED = "LF_POOL_CHANGED";

	static final String SERVER_PAUSED = "LF_SERVER_PAUSED";

	static final String SERVER_RESUMED = "LF_SERVER_RESUMED";

	static final String SERVER_DRAINED = "LF_SERVER_DRAINED";

	static final String CONNECTION_CLOSED = "LF_CONNECTION_CLOSED";

	static final String WIRE_LOG_STARTED = "LF_WIRE_LOG_STARTED";

	static final String WIRE_LOG_STOPPED = "LF_WIRE_LOG_STOPPED";

	static final String HAND_OFFS_DRAINED = "LF_HAND_OFFS_DRAINED";

	private final ApplicationEventPublisher publisher;

	/**
	 * A lock of our own: those who are told of a write may wait for threads of the pool.
	 */
	private final Object writing = new Object();

	WriteAudit(ApplicationEventPublisher publisher) {
		this.publisher = publisher;
	}

	/**
	 * Lets one write happen at a time, so that what it tells of before and after is true.
	 */
	<T> T write(Supplier<T> operation) {
		synchronized (this.writing) {
			return operation.get();
		}
	}

	/**
	 * Publishes a write.
	 * @param operator who asked for it
	 * @param type what was done
	 * @param subject what it was done to
	 * @param before the values that were changed, as they were
	 * @param after the same values as they are now
	 */
	void record(Operator operator, String type, Map<String, String> subject, Map<String, ?> before,
			Map<String, ?> after) {
		Map<String, @Nullable Object> data = new LinkedHashMap<>(subject);
		if (!after.isEmpty()) {
			data.put("before", before);
			data.put("after", after);
		}
		this.publisher.publishEvent(new AuditApplicationEvent(operator.name(), type, data));
	}

	/**
	 * Who asked for an operation.
	 *
	 * @param name the printable name of the principal, empty if nobody had to say who he
	 * is
	 */
	record Operator(String name) {

		/** JMX does not tell. */
		static final Operator UNKNOWN = new Operator("");

		static Operator of(SecurityContext context) {
			Principal principal = context.getPrincipal();
			String name = (principal != null) ? principal.getName() : null;
			return (name != null) ? new Operator(Printable.of(name)) : UNKNOWN;
		}

		/**
		 * For a line of the log, in the middle of a sentence.
		 */
		String by() {
			return this.name.isEmpty() ? " through Actuator" : " by '%s' through Actuator".formatted(this.name);
		}

	}

}
