package org.leaderfollowers.spring.autoconfigure;

import java.util.List;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.ClientAuth;
import org.leaderfollowers.ServerTls;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Server;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Ssl;
import org.leaderfollowers.spring.server.UnknownNameException;
import org.leaderfollowers.spring.server.UnknownNameException.Kind;

import org.springframework.boot.ssl.NoSuchSslBundleException;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;

/**
 * Maps the properties of a server to its TLS.
 *
 * @param bundles the SSL bundles of the application, if there are any
 * @param reload makes servers follow their bundles
 */
record SslPropertiesMapper(@Nullable SslBundles bundles, @Nullable BundleReload reload) {

	private static final String ENABLED = "ssl.enabled";

	private static final String BUNDLE = "ssl.bundle";

	private static final String CLIENT_AUTH = "ssl.client-auth";

	static SslPropertiesMapper of(@Nullable SslBundles bundles) {
		return new SslPropertiesMapper(bundles, (bundles != null) ? new BundleReload(bundles) : null);
	}

	/**
	 * Tells which bundle a server is to use, and how.
	 * @return nothing if the server does not speak TLS
	 */
	@Nullable BundleTls map(ConfiguredProperties<Server> properties) {
		Ssl ssl = properties.values().ssl();
		String bundle = ssl.bundle();
		if (Boolean.FALSE.equals(ssl.enabled())) {
			return null;
		}
		if (bundle == null) {
			if (Boolean.TRUE.equals(ssl.enabled())) {
				throw properties.invalid(BUNDLE, null,
						"A value is required, because '%s' is 'true'.".formatted(properties.key(ENABLED)));
			}
			if (ssl.clientAuth() != ClientAuth.NONE) {
				throw properties.invalid(CLIENT_AUTH, ssl.clientAuth(),
						"Is used only if '%s' is set.".formatted(properties.key(BUNDLE)));
			}
			return null;
		}
		return new BundleTls(bundle, ssl.clientAuth());
	}

	/**
	 * Checks whether a server can use its bundle, and does nothing else.
	 */
	void check(ConfiguredProperties<Server> properties) {
		BundleTls tls = map(properties);
		if (tls != null) {
			create(properties, tls, content(properties, tls));
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
		SslBundle content = content(properties, tls);
		TcpServer server = builder.tls(create(properties, tls, content)).build();
		this.reload.follow(server, tls, content);
		return server;
	}

	private SslBundle content(ConfiguredProperties<Server> properties, BundleTls tls) {
		if (this.bundles == null) {
			throw new UnknownNameException(Kind.SSL_BUNDLE, tls.bundle(), List.of(), properties.key(BUNDLE));
		}
		try {
			return this.bundles.getBundle(tls.bundle());
		}
		catch (NoSuchSslBundleException ex) {
			throw new UnknownNameException(Kind.SSL_BUNDLE, tls.bundle(), this.bundles.getBundleNames(),
					properties.key(BUNDLE));
		}
	}

	private static ServerTls create(ConfiguredProperties<Server> properties, BundleTls tls, SslBundle content) {
		return properties.get(BUNDLE, tls.bundle(), (bundle) -> tls.create(content));
	}

}
