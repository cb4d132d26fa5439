package org.leaderfollowers.spring.autoconfigure;

import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.TcpServer;

import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.util.Assert;

/**
 * Gives servers their SSL bundles anew when these are updated, for example because a
 * certificate was renewed. Connections that are open keep what they have. A bundle that
 * is of no use to a server does not get there.
 * <p>
 * Handlers of bundle updates cannot be removed. So there is one for each bundle, however
 * often a server is started again, and it does not keep this object alive: the bundles
 * may belong to a context that lives longer.
 */
final class BundleReload {

	private static final Log logger = LogFactory.getLog(BundleReload.class);

	private final SslBundles bundles;

	private final Map<String, ReloadingServer> servers = new HashMap<>();

	private final Set<String> watched = new HashSet<>();

	/**
	 * Creates a new object, which has to be kept as long as servers are to follow.
	 * @param bundles the bundles
	 */
	public BundleReload(SslBundles bundles) {
		Assert.notNull(bundles, "'bundles' must not be null");
		this.bundles = bundles;
	}

	/**
	 * Lets a server follow its bundle, in place of an earlier one of the same name.
	 * @param server the server
	 * @param tls how it uses the bundle
	 * @param content the bundle that it was built with
	 */
	public synchronized void follow(TcpServer server, BundleTls tls, SslBundle content) {
		tls.warnOfUnlimitedTrust(content);
		ReloadingServer reloading = new ReloadingServer(server, tls);
		this.servers.put(server.name(), reloading);
		if (this.watched.add(tls.bundle())) {
			this.bundles.addBundleUpdateHandler(tls.bundle(), new UpdateHandler(this, tls.bundle())::updated);
		}
		SslBundle current = this.bundles.getBundle(tls.bundle());
		if (current != content) {
			// Updated since the server was built.
			reloading.update(current);
		}
	}

	private synchronized void updated(String bundle, SslBundle content) {
		for (ReloadingServer reloading : this.servers.values()) {
			if (reloading.tls.bundle().equals(bundle)) {
				reloading.update(content);
			}
		}
	}

	private record ReloadingServer(TcpServer server, BundleTls tls) {

		void update(SslBundle content) {
			if (this.server.snapshot().state() == ServerSnapshot.State.STOPPED) {
				return;
			}
			try {
				this.server.tls(this.tls.create(content));
			}
			catch (IllegalArgumentException ex) {
				logger.error("Server '%s' keeps the keys and certificates that it has. %s".formatted(this.server.name(),
						ex.getMessage()), ex.getCause());
				return;
			}
			ServerSnapshot.Tls now = this.server.snapshot().tls();
			logger.info("Server '%s' uses the SSL bundle '%s' as it is now (generation %s). "
				.formatted(this.server.name(), this.tls.bundle(), (now != null) ? now.generation() : "?")
					+ "Connections that are open keep what they have");
		}

	}

	private static final class UpdateHandler {

		private final WeakReference<BundleReload> reload;

		private final String bundle;

		private UpdateHandler(BundleReload reload, String bundle) {
			this.reload = new WeakReference<>(reload);
			this.bundle = bundle;
		}

		private void updated(SslBundle content) {
			BundleReload current = this.reload.get();
			if (current != null) {
				current.updated(this.bundle, content);
			}
		}

	}

}
