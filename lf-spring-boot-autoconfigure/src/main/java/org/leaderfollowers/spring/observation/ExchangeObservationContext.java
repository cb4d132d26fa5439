package org.leaderfollowers.spring.observation;

import java.lang.reflect.Method;

import io.micrometer.observation.transport.Propagator;
import io.micrometer.observation.transport.RequestReplySenderContext;

/**
 * The context of an observed exchange. For a tracer, the exchange is a request that a
 * client sends, and its span is a child of the caller's span. The protocols have no known
 * headers, so the trace is not propagated to the peer.
 */
public class ExchangeObservationContext extends RequestReplySenderContext<Object, Object> {

	private static final Propagator.Setter<Object> NOTHING_PROPAGATED = (carrier, key, value) -> {
	};

	private final String client;

	private final Method method;

	/**
	 * Creates a new context.
	 * @param client the name of the client
	 * @param method the method of the interface that was called
	 * @param request its argument
	 */
	public ExchangeObservationContext(String client, Method method, Object request) {
		super(NOTHING_PROPAGATED);
		this.client = client;
		this.method = method;
		setCarrier(request);
		setRemoteServiceName(client);
	}

	/**
	 * Returns the client that sends the request.
	 * @return the name of the client
	 */
	public String getClient() {
		return this.client;
	}

	/**
	 * Returns the method that was called.
	 * @return a method of an interface
	 */
	public Method getMethod() {
		return this.method;
	}

}
