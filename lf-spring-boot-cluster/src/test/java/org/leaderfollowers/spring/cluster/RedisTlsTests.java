package org.leaderfollowers.spring.cluster;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.cluster.AbstractClusterEngineTests.Inbox;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.leaderfollowers.spring.cluster.AbstractClusterEngineTests.bytes;
import static org.leaderfollowers.spring.cluster.AbstractClusterEngineTests.eventually;
import static org.leaderfollowers.spring.cluster.AbstractClusterEngineTests.get;

/**
 * Nodes on a Redis that speaks only TLS and demands a certificate, with the SSL bundle of
 * the application.
 */
@Timeout(300)
class RedisTlsTests {

	private static final String PASSWORD = "changeit";

	@TempDir
	private Path directory;

	private final ApplicationContextRunner application = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
				LeaderFollowersClusterAutoConfiguration.class, DataRedisAutoConfiguration.class,
				SslAutoConfiguration.class))
		.withPropertyValues("lf.cluster.engine=redis", "lf.cluster.name=test-" + System.nanoTime(),
				"spring.data.redis.host=localhost");

	@Test
	void theConnectionsOfTheNodesUseTheBundleOfTheApplication() throws Exception {
		Path store = certificate();
		try (RedisServer redis = new RedisServer()) {
			redis.start("--port", "0", "--tls-port", String.valueOf(redis.port()), "--tls-cert-file", pem(store, false),
					"--tls-key-file", pem(store, true), "--tls-ca-cert-file", pem(store, false), "--tls-auth-clients",
					"yes");
			ApplicationContextRunner node = this.application.withPropertyValues(
					"spring.data.redis.port=" + redis.port(), "spring.data.redis.ssl.bundle=redis",
					bundle("keystore.location", "file:" + store), bundle("keystore.password", PASSWORD),
					bundle("truststore.location", "file:" + store), bundle("truststore.password", PASSWORD));
			node.run((first) -> node.run((second) -> {
				Inbox inbox = new Inbox();
				first.getBean(ClusterEngine.class).start("north", new Inbox());
				String id = second.getBean(ClusterEngine.class).start("south", inbox);
				eventually().until(() -> reaches(first.getBean(ClusterEngine.class), id));
				eventually().until(() -> inbox.messages.containsKey("message"));
			}));
		}
	}

	/** A node begins to connect when it starts, and until then reaches nobody. */
	private static boolean reaches(ClusterEngine engine, String node) {
		try {
			get(engine.send(node, bytes("message")));
			return true;
		}
		catch (Exception ex) {
			return false;
		}
	}

	private static String bundle(String property, String value) {
		return "spring.ssl.bundle.jks.redis." + property + "=" + value;
	}

	/** A key and its certificate, signed by itself: that of Redis and of the nodes. */
	private Path certificate() throws IOException, InterruptedException {
		Path store = this.directory.resolve("redis.p12");
		Process keytool = new ProcessBuilder(
				List.of(Path.of(System.getProperty("java.home"), "bin", "keytool").toString(), "-genkeypair", "-alias",
						"redis", "-keyalg", "EC", "-dname", "CN=localhost", "-ext", "SAN=dns:localhost", "-storetype",
						"PKCS12", "-keystore", store.toString(), "-storepass", PASSWORD))
			.redirectErrorStream(true)
			.redirectOutput(this.directory.resolve("keytool.log").toFile())
			.start();
		assertThat(keytool.waitFor(60, TimeUnit.SECONDS)).isTrue();
		assertThat(keytool.exitValue()).isZero();
		// The certificate is also what both sides trust.
		Path trusting = this.directory.resolve("trusting.p12");
		try (InputStream input = Files.newInputStream(store)) {
			KeyStore keys = KeyStore.getInstance("PKCS12");
			keys.load(input, PASSWORD.toCharArray());
			keys.setCertificateEntry("authority", keys.getCertificate("redis"));
			keys.store(Files.newOutputStream(trusting), PASSWORD.toCharArray());
		}
		catch (GeneralSecurityException ex) {
			throw new IllegalStateException(ex);
		}
		return trusting;
	}

	/** Writes the key or the certificate as Redis reads it. */
	private String pem(Path store, boolean isKey) throws Exception {
		KeyStore keys = KeyStore.getInstance("PKCS12");
		try (InputStream input = Files.newInputStream(store)) {
			keys.load(input, PASSWORD.toCharArray());
		}
		Key key = keys.getKey("redis", PASSWORD.toCharArray());
		Certificate certificate = keys.getCertificate("redis");
		String type = isKey ? "PRIVATE KEY" : "CERTIFICATE";
		byte[] content = isKey ? key.getEncoded() : certificate.getEncoded();
		return Files
			.writeString(this.directory.resolve(isKey ? "key.pem" : "certificate.pem"),
					"-----BEGIN %s-----%n%s%n-----END %s-----%n".formatted(type,
							Base64.getMimeEncoder().encodeToString(content), type))
			.toString();
	}

}
