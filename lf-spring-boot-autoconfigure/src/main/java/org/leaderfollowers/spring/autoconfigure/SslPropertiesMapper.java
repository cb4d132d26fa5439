package org.leaderfollowers.spring.autoconfigure;

import java.security.NoSuchAlgorithmException;
import java.util.List;
import java.util.function.Function;

import javax.net.ssl.SSLContext;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.ClientAuth;
import org.leaderfollowers.ClientTls;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.ServerTls;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.autoconfigure.ClientProperties.ClientSsl;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Server;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Ssl;
import org.leaderfollowers.spring.server.UnknownNameException;
import org.leaderfollowers.spring.server.UnknownNameException.Kind;

import org.springframework.boot.ssl.NoSuchSslBundleException;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;

/**
 * Maps the properties of a server or client to its TLS.
 *
 * @param bundles the SSL bundles of the application, if there are any
 * @param reload makes servers and clients follow their bundles, or {@code null}
 */
record SslPropertiesMapper(@Nullable SslBundles bundles, @Nullable BundleReload reload) {

	private static final String ENABLED = "ssl.enabled";

	private static final String BUNDLE = "ssl.bundle";

	private static final String CLIENT_AUTH = "ssl.client-auth";

	private static final String MAX_HANDSHAKES = "ssl.max-handshakes";

	private static final int DEFAULT_MAX_HANDSHAKES = 1000;

	private static final String MAX_HANDSHAKE_RATE = "ssl.max-handshake-rate";

	static SslPropertiesMapper of(@Nullable SslBundles bundles) {
		return new SslPropertiesMapper(bundles, (bundles != null) ? new BundleReload(bundles) : null);
	}

	/**
	 * Returns the bundle of a server, and how to use it.
	 * @return {@code null} if the server does not use TLS
	 */
	@Nullable BundleTls map(ConfiguredProperties<Server> properties) {
		Ssl ssl = properties.values().ssl();
		String bundle = ssl.bundle();
		if (Boolean.FALSE.equals(ssl.enabled())) {
			return null;
		}
		if (bundle == null) {
			if (Boolean.TRUE.equals(ssl.enabled())) {
				throw properties.missing(BUNDLE,
						"A value is required, because '%s' is 'true'.".formatted(properties.key(ENABLED)));
			}
			if (ssl.clientAuth() != ClientAuth.NONE) {
				throw properties.invalid(CLIENT_AUTH, ssl.clientAuth(),
						"Is used only if '%s' is set.".formatted(properties.key(BUNDLE)));
			}
			if (ssl.maxHandshakes() != DEFAULT_MAX_HANDSHAKES) {
				throw properties.invalid(MAX_HANDSHAKES, ssl.maxHandshakes(),
						"Is used only if '%s' is set.".formatted(properties.key(BUNDLE)));
			}
			if (ssl.maxHandshakeRate() != null) {
				throw properties.invalid(MAX_HANDSHAKE_RATE, ssl.maxHandshakeRate(),
						"Is used only if '%s' is set.".formatted(properties.key(BUNDLE)));
			}
			return null;
		}
		checkRange(properties, MAX_HANDSHAKES, ssl.maxHandshakes(), Integer.MAX_VALUE);
		checkRange(properties, MAX_HANDSHAKE_RATE, ssl.maxHandshakeRate(), 1_000_000);
		return new BundleTls(bundle, ssl);
	}

	private static void checkRange(ConfiguredProperties<Server> properties, String property, @Nullable Integer value,
			int most) {
		if (value != null && (value < 0 || value > most)) {
			throw properties.invalid(property, value, "Must be from 0 to %d.".formatted(most));
		}
	}

	/** Checks whether a server can use its bundle, without other effects. */
	void check(ConfiguredProperties<Server> properties) {
		BundleTls tls = map(properties);
		if (tls != null) {
			create(properties, tls, content(properties, tls.bundle()));
		}
	}

	/**
	 * Builds a server that follows its bundle, if it has one.
	 */
	TcpServer build(ConfiguredProperties<Server> properties, TcpServer.Builder builder) {
		BundleTls tls = map(properties);
		if (tls == null || this.reload == null) {
			return builder.build();
		}
		SslBundle content = content(properties, tls.bundle());
		TcpServer server = builder.tls(create(properties, tls, content)).build();
		tls.warnOfUnlimitedTrust(content);
		this.reload.follow("Server '%s'".formatted(server.name()), tls.bundle(), content,
				(current) -> update(server, tls, current));
		return server;
	}

	private static @Nullable String update(TcpServer server, BundleTls tls, SslBundle content) {
		if (server.snapshot().state() == ServerSnapshot.State.STOPPED) {
			return null;
		}
		server.tls(tls.create(content));
		ServerSnapshot.Tls now = server.snapshot().tls();
		return " (generation %s)".formatted((now != null) ? now.generation() : "?");
	}

	/**
	 * Builds a client that follows its bundle, if it has one.
	 */
	TcpClient buildClient(ConfiguredProperties<ClientProperties> properties, TcpClient.Builder builder) {
		ClientSsl ssl = properties.values().ssl();
		String bundle = ssl.bundle();
		boolean enabled = (ssl.enabled() != null) ? ssl.enabled() : bundle != null;
		if (!enabled && !ssl.verifyHostname()) {
			throw properties.invalid("ssl.verify-hostname", false,
					"Is used only if '%s' is set.".formatted(properties.key(BUNDLE)));
		}
		if (!enabled) {
			return builder.build();
		}
		if (bundle == null) {
			return builder.tls(ClientTls.of(defaultContext()).verifyHostname(ssl.verifyHostname())).build();
		}
		SslBundle content = content(properties, bundle);
		Function<SslBundle, ClientTls> create = (current) -> BundleTls.createForClient(bundle, current,
				ssl.verifyHostname());
		TcpClient client = builder.tls(properties.get(BUNDLE, bundle, (checked) -> create.apply(content))).build();
		if (this.reload != null) {
			this.reload.follow("Client '%s'".formatted(client.name()), bundle, content, (current) -> {
				client.tls(create.apply(current));
				return "";
			});
		}
		return client;
	}

	private static SSLContext defaultContext() {
		try {
			return SSLContext.getDefault();
		}
		catch (NoSuchAlgorithmException ex) {
			throw new IllegalStateException("The JDK has no default SSLContext", ex);
		}
	}

	private SslBundle content(ConfiguredProperties<?> properties, String bundle) {
		if (this.bundles == null) {
			throw new UnknownNameException(Kind.SSL_BUNDLE, bundle, List.of(), properties.key(BUNDLE));
		}
		try {
			return this.bundles.getBundle(bundle);
		}
		catch (NoSuchSslBundleException ex) {
			throw new UnknownNameException(Kind.SSL_BUNDLE, bundle, this.bundles.getBundleNames(),
					properties.key(BUNDLE));
		}
	}

	private static ServerTls create(ConfiguredProperties<Server> properties, BundleTls tls, SslBundle content) {
		return properties.get(BUNDLE, tls.bundle(), (bundle) -> tls.create(content));
	}

}
