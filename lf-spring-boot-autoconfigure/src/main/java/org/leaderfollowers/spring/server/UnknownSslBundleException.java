package org.leaderfollowers.spring.server;

import java.util.Collection;
import java.util.List;

/**
 * Thrown when a server is to use an SSL bundle that does not exist.
 *
 * @serial exclude
 */
@SuppressWarnings("serial")
public class UnknownSslBundleException extends RuntimeException {

	private final String bundle;

	private final List<String> knownBundles;

	private final String property;

	/**
	 * Creates a new exception.
	 * @param bundle the name of the bundle that was asked for
	 * @param knownBundles the names of the bundles that there are
	 * @param property the property that names the bundle
	 */
	public UnknownSslBundleException(String bundle, Collection<String> knownBundles, String property) {
		super("There is no SSL bundle named '%s'. Known bundles: %s".formatted(bundle,
				String.join(", ", knownBundles)));
		this.bundle = bundle;
		this.knownBundles = List.copyOf(knownBundles);
		this.property = property;
	}

	/**
	 * Returns the bundle that was asked for.
	 * @return the name of the bundle
	 */
	public String getBundle() {
		return this.bundle;
	}

	/**
	 * Returns the bundles that there are.
	 * @return the names of the bundles, possibly none
	 */
	public List<String> getKnownBundles() {
		return this.knownBundles;
	}

	/**
	 * Returns the property that names the bundle.
	 * @return the name of the property
	 */
	public String getProperty() {
		return this.property;
	}

}
