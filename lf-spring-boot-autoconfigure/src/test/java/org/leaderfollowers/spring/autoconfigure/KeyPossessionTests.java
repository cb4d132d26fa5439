package org.leaderfollowers.spring.autoconfigure;

import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.cert.X509Certificate;

import javax.net.ssl.KeyManager;
import javax.net.ssl.X509KeyManager;
import javax.security.auth.x500.X500Principal;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslManagerBundle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link KeyPossession} with keys of all kinds.
 */
class KeyPossessionTests {

	private static KeyPair pair(String algorithm) throws GeneralSecurityException {
		return KeyPairGenerator.getInstance(algorithm).generateKeyPair();
	}

	private static X509Certificate certificate(PublicKey key, String name) {
		X509Certificate certificate = mock();
		given(certificate.getPublicKey()).willReturn(key);
		given(certificate.getSubjectX500Principal()).willReturn(new X500Principal("CN=" + name));
		return certificate;
	}

	private static X509KeyManager manager(PrivateKey key, X509Certificate... chain) {
		X509KeyManager manager = mock();
		String type = key.getAlgorithm();
		given(manager.getServerAliases(type, null)).willReturn(new String[] { "alias" });
		given(manager.getPrivateKey("alias")).willReturn(key);
		given(manager.getCertificateChain("alias")).willReturn(chain);
		return manager;
	}

	private static String problem(KeyManager... managers) {
		SslBundle bundle = mock();
		SslManagerBundle all = mock();
		given(bundle.getManagers()).willReturn(all);
		given(all.getKeyManagers()).willReturn(managers);
		return KeyPossession.problem(bundle);
	}

	@ParameterizedTest
	@ValueSource(strings = { "RSA", "EC", "Ed25519", "Ed448" })
	void aKeyOfAnotherCertificateIsFound(String algorithm) throws Exception {
		KeyPair own = pair(algorithm);
		X509Certificate authority = certificate(pair(algorithm).getPublic(), "authority");
		assertThat(problem(manager(own.getPrivate(), certificate(own.getPublic(), "own"), authority))).isNull();
		assertThat(problem(manager(own.getPrivate(), certificate(own.getPublic(), "own")),
				manager(own.getPrivate(), authority)))
			.isEqualTo("its private key does not belong to its certificate (CN=authority)");
	}

	@Test
	void aKeyOfAnotherKindIsFound() throws Exception {
		X509Certificate certificate = certificate(pair("EC").getPublic(), "other");
		for (String algorithm : new String[] { "RSA", "RSASSA-PSS", "DSA", "Ed25519" }) {
			assertThat(problem(manager(pair(algorithm).getPrivate(), certificate))).as(algorithm)
				.contains("does not belong to its certificate");
		}
	}

	@Test
	void keysThatCannotBeCheckedAreAccepted() throws Exception {
		KeyPair pair = pair("DSA");
		assertThat(problem(manager(pair.getPrivate(), certificate(pair.getPublic(), "own")))).isNull();
		PrivateKey inHardware = mock();
		given(inHardware.getAlgorithm()).willReturn("EC");
		assertThat(problem(manager(inHardware, certificate(pair("EC").getPublic(), "own")))).isNull();
		assertThat(problem(mock(KeyManager.class))).as("of an unknown kind").isNull();
		assertThat(problem()).contains("has no private key");
	}

	@ParameterizedTest
	@CsvSource({ "RSA, 2048, 3072", "EC, 256, 384", "EC, 384, 256" })
	void aKeyOfAnotherSizeIsFound(String algorithm, int size, int other) throws Exception {
		KeyPairGenerator generator = KeyPairGenerator.getInstance(algorithm);
		generator.initialize(size);
		PrivateKey own = generator.generateKeyPair().getPrivate();
		generator.initialize(other);
		X509Certificate certificate = certificate(generator.generateKeyPair().getPublic(), "other");
		assertThat(problem(manager(own, certificate))).contains("does not belong to its certificate");
	}

}
