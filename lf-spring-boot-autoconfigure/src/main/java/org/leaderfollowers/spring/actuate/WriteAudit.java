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
 * Publishes each successful write as an event for Boot's audit. The application decides
 * which listeners receive these events and where they are stored.
 */
final class WriteAudit {

	static final String POOL_CHANGED = "LF_POOL_CHANGED";

	static final String SERVER_PAUSED = "LF_SERVER_PAUSED";

	static final String SERVER_RESUMED = "LF_SERVER_RESUMED";

	static final String SERVER_DRAINED = "LF_SERVER_DRAINED";

	static final String SERVER_EVACUATED = "LF_SERVER_EVACUATED";

	static final String SERVER_LIMITED = "LF_SERVER_LIMITED";

	static final String CONNECTION_CLOSED = "LF_CONNECTION_CLOSED";

	static final String WIRE_LOG_STARTED = "LF_WIRE_LOG_STARTED";

	static final String WIRE_LOG_STOPPED = "LF_WIRE_LOG_STOPPED";

	static final String HAND_OFFS_DRAINED = "LF_HAND_OFFS_DRAINED";

	private final ApplicationEventPublisher publisher;

	/**
	 * A separate lock, because listeners that run inside of it may wait for threads of
	 * the pool.
	 */
	private final Object writing = new Object();

	WriteAudit(ApplicationEventPublisher publisher) {
		this.publisher = publisher;
	}

	/**
	 * Runs one write at a time, so that the recorded values before and after are those of
	 * this write.
	 */
	<T> T write(Supplier<T> operation) {
		synchronized (this.writing) {
			return operation.get();
		}
	}

	/**
	 * Publishes a write.
	 * @param operator the caller who requested the write
	 * @param type the type of the event
	 * @param subject the names of the changed objects, and details of the write
	 * @param before the changed values before the write; empty if there are none
	 * @param after the same values after the write
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
	 * The caller of an operation.
	 *
	 * @param name the printable name of the principal, or empty if the caller is unknown
	 */
	record Operator(String name) {

		/** JMX does not identify its callers. */
		static final Operator UNKNOWN = new Operator("");

		static Operator of(SecurityContext context) {
			Principal principal = context.getPrincipal();
			String name = (principal != null) ? principal.getName() : null;
			return (name != null) ? new Operator(Printable.of(name)) : UNKNOWN;
		}

		/**
		 * Names the caller for the middle of a sentence in the log.
		 */
		String by() {
			return this.name.isEmpty() ? " through Actuator" : " by '%s' through Actuator".formatted(this.name);
		}

	}

}
