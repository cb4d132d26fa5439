package org.leaderfollowers.spring.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;
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
		// That of Redis and of the nodes, and what both trust.
		KeyStore store = selfSigned();
		String certificate = pem("CERTIFICATE", store.getCertificate("redis").getEncoded());
		String key = pem("PRIVATE KEY", store.getKey("redis", PASSWORD.toCharArray()).getEncoded());
		try (RedisServer redis = new RedisServer()) {
			redis.start("--port", "0", "--tls-port", String.valueOf(redis.port()), "--tls-cert-file", certificate,
					"--tls-key-file", key, "--tls-ca-cert-file", certificate, "--tls-auth-clients", "yes");
			ApplicationContextRunner node = this.application.withPropertyValues(
					"spring.data.redis.port=" + redis.port(), "spring.data.redis.ssl.bundle=redis",
					bundle("keystore.certificate", certificate), bundle("keystore.private-key", key),
					bundle("truststore.certificate", certificate));
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

	private static String bundle(String property, String path) {
		return "spring.ssl.bundle.pem.redis." + property + "=file:" + path;
	}

	private KeyStore selfSigned() throws Exception {
		Path store = this.directory.resolve("redis.p12");
		Process keytool = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
				"-genkeypair", "-alias", "redis", "-keyalg", "EC", "-dname", "CN=localhost", "-ext",
				"SAN=dns:localhost", "-storetype", "PKCS12", "-keystore", store.toString(), "-storepass", PASSWORD)
			.redirectErrorStream(true)
			.redirectOutput(this.directory.resolve("keytool.log").toFile())
			.start();
		assertThat(keytool.waitFor(60, TimeUnit.SECONDS)).isTrue();
		assertThat(keytool.exitValue()).isZero();
		return KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray());
	}

	private String pem(String type, byte[] content) throws IOException {
		return Files.writeString(this.directory.resolve(type.replace(' ', '-') + ".pem"),
				"-----BEGIN %1$s-----%n%2$s%n-----END %1$s-----%n".formatted(type,
						Base64.getMimeEncoder().encodeToString(content)))
			.toString();
	}

}
