package org.leaderfollowers.spring.server;

import java.util.function.Supplier;

import org.leaderfollowers.Server;

import org.springframework.util.Assert;

/**
 * How to get a server, and where people find what configures it.
 */
public final class ServerRegistration {

	private final Supplier<? extends Server> factory;

	private final String configuration;

	private final boolean configuredByProperties;

	private ServerRegistration(Supplier<? extends Server> factory, String configuration,
			boolean configuredByProperties) {
		this.factory = factory;
		this.configuration = configuration;
		this.configuredByProperties = configuredByProperties;
	}

	/**
	 * Registers a server that is configured by properties.
	 * @param prefix the prefix of the properties, without a dot at its end
	 * @param factory builds a new server. It is called again when the server was stopped
	 * and is to be started once more
	 * @return the registration
	 */
	public static ServerRegistration ofProperties(String prefix, Supplier<? extends Server> factory) {
		Assert.hasText(prefix, "'prefix' must not be empty");
		Assert.notNull(factory, "'factory' must not be null");
		return new ServerRegistration(factory, prefix, true);
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
		return new ServerRegistration(() -> server, beanName, false);
	}

	Server get() {
		return this.factory.get();
	}

	/**
	 * Tells where to change an attribute of the server, to people.
	 */
	String where(String attribute) {
		return this.configuredByProperties ? "the property '%s.%s'".formatted(this.configuration, attribute)
				: "the %s of the bean '%s'".formatted(attribute, this.configuration);
	}

}
