package org.leaderfollowers.spring.autoconfigure;

import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

import javax.net.ssl.KeyManager;
import javax.net.ssl.X509KeyManager;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.ssl.SslBundle;

/**
 * Checks whether a server can prove its identity with a bundle: whether the bundle has a
 * private key, and whether this key belongs to its certificate. If not, every handshake
 * would fail, and only the clients would notice.
 */
final class KeyPossession {

	private static final List<String> KEY_TYPES = List.of("EC", "EdDSA", "RSA", "RSASSA-PSS", "DSA");

	private static final byte[] CHALLENGE = new byte[32];

	private KeyPossession() {
	}

	/**
	 * Checks the keys of a bundle.
	 * @param bundle the bundle
	 * @return the problem, or {@code null} if there is none
	 */
	static @Nullable String problem(SslBundle bundle) {
		boolean unknown = false;
		Set<String> problems = new LinkedHashSet<>();
		boolean found = false;
		for (KeyManager manager : bundle.getManagers().getKeyManagers()) {
			if (!(manager instanceof X509KeyManager keys)) {
				unknown = true;
				continue;
			}
			for (String alias : aliases(keys)) {
				found = true;
				PrivateKey key = keys.getPrivateKey(alias);
				X509Certificate[] chain = keys.getCertificateChain(alias);
				if (key != null && chain != null && chain.length > 0 && !belongTogether(key, chain[0])) {
					problems.add("its private key does not belong to its certificate (%s)"
						.formatted(chain[0].getSubjectX500Principal()));
				}
			}
		}
		if (!found && !unknown) {
			return "it has no private key with a certificate, which a server needs";
		}
		return problems.isEmpty() ? null : problems.iterator().next();
	}

	private static List<String> aliases(X509KeyManager keys) {
		List<String> aliases = new ArrayList<>();
		for (String type : KEY_TYPES) {
			String[] ofType = keys.getServerAliases(type, null);
			if (ofType != null) {
				aliases.addAll(List.of(ofType));
			}
		}
		return aliases;
	}

	/** Signs with the private key and verifies with the certificate. */
	private static boolean belongTogether(PrivateKey key, X509Certificate certificate) {
		if (!sameKind(key.getAlgorithm(), certificate.getPublicKey().getAlgorithm())) {
			return false;
		}
		String algorithm = switch (key.getAlgorithm()) {
			case "RSA" -> "SHA256withRSA";
			case "EC" -> "SHA256withECDSA";
			case "EdDSA", "Ed25519", "Ed448" -> "EdDSA";
			default -> "";
		};
		if (algorithm.isEmpty()) {
			return true;
		}
		byte[] signature;
		try {
			Signature signing = Signature.getInstance(algorithm);
			signing.initSign(key);
			signing.update(CHALLENGE);
			signature = signing.sign();
		}
		catch (GeneralSecurityException ex) {
			// Not every key can sign here, for example a key in hardware. The handshakes
			// will show whether it works.
			return true;
		}
		try {
			Signature verifying = Signature.getInstance(algorithm);
			verifying.initVerify(certificate.getPublicKey());
			verifying.update(CHALLENGE);
			return verifying.verify(signature);
		}
		catch (GeneralSecurityException ex) {
			return false;
		}
	}

	private static boolean sameKind(String privateKey, String publicKey) {
		return privateKey.equals(publicKey) || (isEdwards(privateKey) && isEdwards(publicKey));
	}

	private static boolean isEdwards(String algorithm) {
		return algorithm.startsWith("Ed");
	}

}
