package org.leaderfollowers.spring.autoconfigure;

import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.util.Assert;

/**
 * Passes SSL bundles to servers and clients again when the bundles are updated, for
 * example because a certificate was renewed. Open connections keep their configuration.
 * An unusable bundle is not passed on.
 * <p>
 * Spring Boot cannot remove handlers of bundle updates. There is therefore only one
 * handler for each bundle, however often a server is restarted. It does not keep this
 * object alive, because the bundles may belong to a context that lives longer.
 */
final class BundleReload {

	private static final Log logger = LogFactory.getLog(BundleReload.class);

	private final SslBundles bundles;

	private final Map<String, Follower> followers = new HashMap<>();

	private final Set<String> watched = new HashSet<>();

	/**
	 * Creates an object, which must be kept as long as servers or clients follow their
	 * bundles.
	 * @param bundles the bundles
	 */
	public BundleReload(SslBundles bundles) {
		Assert.notNull(bundles, "'bundles' must not be null");
		this.bundles = bundles;
	}

	/**
	 * Makes a server or client follow its bundle, in place of an earlier one of the same
	 * name.
	 * @param subject the server or client, for messages
	 * @param bundle the name of the bundle
	 * @param content the bundle that it was built with
	 * @param update passes the updated bundle to the server or client, and returns a
	 * sentence for the log, or {@code null} if updates are no longer needed
	 */
	public synchronized void follow(String subject, String bundle, SslBundle content,
			Function<SslBundle, @Nullable String> update) {
		Follower follower = new Follower(subject, bundle, update);
		this.followers.put(subject, follower);
		if (this.watched.add(bundle)) {
			this.bundles.addBundleUpdateHandler(bundle, new UpdateHandler(this, bundle)::updated);
		}
		SslBundle current = this.bundles.getBundle(bundle);
		if (current != content) {
			// The bundle was updated after the server or client was built.
			follower.use(current);
		}
	}

	private synchronized void updated(String bundle, SslBundle content) {
		for (Follower follower : this.followers.values()) {
			if (follower.bundle().equals(bundle)) {
				follower.use(content);
			}
		}
	}

	private record Follower(String subject, String bundle, Function<SslBundle, @Nullable String> update) {

		void use(SslBundle content) {
			String used;
			try {
				used = this.update.apply(content);
			}
			catch (IllegalArgumentException ex) {
				logger.error(
						"%s keeps the keys and certificates that it has. %s".formatted(this.subject, ex.getMessage()),
						ex.getCause());
				return;
			}
			if (used != null) {
				logger.info("%s now uses the updated SSL bundle '%s'%s. ".formatted(this.subject, this.bundle, used)
						+ "Open connections keep their keys and certificates");
			}
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
