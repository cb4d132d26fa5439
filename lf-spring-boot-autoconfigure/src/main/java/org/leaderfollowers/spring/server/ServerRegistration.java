package org.leaderfollowers.spring.server;

import java.util.function.Supplier;

import org.leaderfollowers.Server;

import org.springframework.util.Assert;

/**
 * How to get a server, and where people find what configures it.
 */
public final class ServerRegistration {

	private final String server;

	private final Supplier<? extends Server> factory;

	private final String configuration;

	private final boolean configuredByProperties;

	private ServerRegistration(String server, Supplier<? extends Server> factory, String configuration,
			boolean configuredByProperties) {
		this.server = server;
		this.factory = factory;
		this.configuration = configuration;
		this.configuredByProperties = configuredByProperties;
	}

	/**
	 * Registers a server that is configured by properties.
	 * @param server the name of the server
	 * @param prefix the prefix of the properties, without a dot at its end
	 * @param factory builds a new server of this name. It is called when the server is
	 * needed, and again when the server was stopped and is to be started once more
	 * @return the registration
	 */
	public static ServerRegistration ofProperties(String server, String prefix, Supplier<? extends Server> factory) {
		Assert.hasText(server, "'server' must not be empty");
		Assert.hasText(prefix, "'prefix' must not be empty");
		Assert.notNull(factory, "'factory' must not be null");
		return new ServerRegistration(server, factory, prefix, true);
	}

	/**
	 * Registers a server that is a bean. It can be started once.
	 * @param beanName the name of the bean
	 * @param server the bean
	 * @return the registration
	 */
	public static ServerRegistration ofBean(String beanName, Server server) {
		Assert.hasText(beanName, "'beanName' must not be empty");
		Assert.notNull(server, "'server' must not be null");
		return new ServerRegistration(server.name(), () -> server, beanName, false);
	}

	/**
	 * Whether there is no server before {@link #get}.
	 */
	boolean isBuiltWhenNeeded() {
		return this.configuredByProperties;
	}

	String server() {
		return this.server;
	}

	Server get() {
		Server built = this.factory.get();
		Assert.state(built.name().equals(this.server),
				() -> "The server '%s' must keep its name, but was built as '%s'".formatted(this.server, built.name()));
		return built;
	}

	/**
	 * Tells where to change an attribute of the server, to people.
	 */
	String where(String attribute) {
		return this.configuredByProperties ? "the property '%s.%s'".formatted(this.configuration, attribute)
				: "the %s of the bean '%s'".formatted(attribute, this.configuration);
	}

}
