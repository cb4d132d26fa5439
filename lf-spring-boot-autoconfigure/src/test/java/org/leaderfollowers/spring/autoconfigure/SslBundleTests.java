package org.leaderfollowers.spring.autoconfigure;

import java.io.BufferedReader;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.net.Socket;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.cert.Certificate;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.leaderfollowers.ClientAuth;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.Server;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.EchoHandler;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Ssl;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.Banner;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.ssl.DefaultSslBundleRegistry;
import org.springframework.boot.ssl.NoSuchSslBundleException;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.ssl.SslOptions;
import org.springframework.boot.ssl.SslStoreBundle;
import org.springframework.boot.ssl.pem.PemSslStoreBundle;
import org.springframework.boot.ssl.pem.PemSslStoreDetails;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Servers that speak TLS with the keys of an SSL bundle, through sockets.
 */
@ExtendWith(OutputCaptureExtension.class)
class SslBundleTests {

	private static TestCertificate first;

	private static TestCertificate second;

	private static TestCertificate stranger;

	@TempDir
	private Path directory;

	@BeforeAll
	static void createCertificates(@TempDir Path directory) throws Exception {
		first = TestCertificate.create(directory, "first");
		second = TestCertificate.create(directory, "second");
		stranger = TestCertificate.create(directory, "stranger");
	}

	@Test
	void serverSpeaksTls(CapturedOutput output) throws Exception {
		write(first);
		try (ConfigurableApplicationContext context = run(Echo.class, pem("lf.server.ssl.bundle=web"));
				TlsClient client = new TlsClient(port(context))) {
			assertThat(client.ask("hello")).isEqualTo("hello");
			assertThat(client.certificate()).isEqualTo(first.certificate());
		}
		assertThat(output).contains("(TLS, framing 'line', handler").doesNotContain("has no trust store");
	}

	@Test
	void disabledServerSpeaksInTheClear() throws Exception {
		write(first);
		try (ConfigurableApplicationContext context = run(Echo.class,
				pem("lf.server.ssl.bundle=web", "lf.server.ssl.enabled=false"));
				LineClient client = new LineClient(port(context))) {
			assertThat(client.ask("hello")).isEqualTo("hello");
		}
	}

	@Test
	void filesThatChangeAreUsedForNewConnections(CapturedOutput output) throws Exception {
		write(first);
		try (ConfigurableApplicationContext context = run(Echo.class,
				pem("lf.server.ssl.bundle=web", "spring.ssl.bundle.pem.web.reload-on-update=true",
						"spring.ssl.bundle.watch.file.quiet-period=200ms"));
				TlsClient established = new TlsClient(port(context))) {
			assertThat(established.ask("one")).isEqualTo("one");
			write(second);
			Awaitility.await().untilAsserted(() -> assertThat(tls(context).generation()).isEqualTo(2));
			try (TlsClient client = new TlsClient(port(context))) {
				assertThat(client.ask("two")).isEqualTo("two");
				assertThat(client.certificate()).isEqualTo(second.certificate());
				assertThat(established.ask("three")).isEqualTo("three");
				assertThat(established.certificate()).isEqualTo(first.certificate());
				assertThat(tls(context).openConnections()).containsEntry(1, 1).containsEntry(2, 1).hasSize(2);
			}
			assertThat(output).contains("Server 'default' now uses the updated SSL bundle 'web' (generation 2). "
					+ "Open connections keep their keys and certificates");
		}
	}

	@Test
	void bundleThatIsBrokenWhenItIsReloadedIsNotUsed(CapturedOutput output) throws Exception {
		DefaultSslBundleRegistry registry = new DefaultSslBundleRegistry("web", bundle(first, first));
		try (ConfigurableApplicationContext context = run(registry, "lf.server.ssl.bundle=web")) {
			registry.updateBundle("web", bundle(first, second));
			assertThat(output).contains("Server 'default' keeps the keys and certificates that it has. "
					+ "The SSL bundle 'web' cannot be used: its private key does not belong to its certificate (CN=first)");
			registry.updateBundle("web", SslBundle.of(null));
			assertThat(output).contains(
					"The SSL bundle 'web' cannot be used: it has no private key with a certificate, which a server needs");
			registry.updateBundle("web",
					SslBundle.of(new PemSslStoreBundle(PemSslStoreDetails
						.forCertificate("-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----")
						.withPrivateKey(first.keyPem()), null)));
			assertThat(output).contains("The SSL bundle 'web' cannot be used: Unable to create key store: "
					+ "Error reading certificate: Could not parse certificate: java.io.IOException: Empty input\n");
			assertThat(tls(context).generation()).isEqualTo(1);
			try (TlsClient client = new TlsClient(port(context))) {
				assertThat(client.ask("hello")).isEqualTo("hello");
				assertThat(client.certificate()).isEqualTo(first.certificate());
			}
			registry.updateBundle("web", bundle(second, second));
			assertThat(tls(context).generation()).isEqualTo(2);
		}
	}

	@Test
	void serverThatIsStartedAgainFollowsWithoutAnotherHandler(CapturedOutput output) throws Exception {
		CountingBundles bundles = new CountingBundles(new DefaultSslBundleRegistry("web", bundle(first, first)));
		try (ConfigurableApplicationContext context = run(bundles, "lf.server.ssl.bundle=web")) {
			context.stop();
			context.start();
			context.stop();
			bundles.registry.updateBundle("web", bundle(second, second));
			assertThat(output).as("a stopped server uses no bundle").doesNotContain("the updated SSL bundle");
			context.start();
			try (TlsClient client = new TlsClient(port(context))) {
				assertThat(client.ask("hello")).isEqualTo("hello");
				assertThat(client.certificate()).isEqualTo(second.certificate());
			}
			bundles.registry.updateBundle("web", bundle(first, first));
			try (TlsClient client = new TlsClient(port(context))) {
				assertThat(client.ask("hello")).isEqualTo("hello");
				assertThat(client.certificate()).isEqualTo(first.certificate());
			}
			assertThat(bundles.handlers).hasValue(1);
		}
	}

	/** For example while the beans that the handler needs are created. */
	@Test
	void aBundleThatIsUpdatedBeforeItsServerStartsIsUsed() throws Exception {
		DefaultSslBundleRegistry registry = new DefaultSslBundleRegistry("web", bundle(first, first));
		SslPropertiesMapper mapper = SslPropertiesMapper.of(registry);
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().build()) {
			TcpServer server = mapper.build(
					TestProperties.bind("lf.server", LfProperties.Server.class, "ssl.bundle=web"),
					TcpServer.builder(pool).port(0).framing(Framing.line()).handler(new EchoHandler()));
			registry.updateBundle("web", bundle(second, second));
			server.start();
			try (TlsClient client = new TlsClient(server.port())) {
				assertThat(client.ask("hello")).isEqualTo("hello");
				assertThat(client.certificate()).isEqualTo(second.certificate());
			}
			server.close();
			assertThat(mapper.reload()).as("kept as long as the server").isNotNull();
		}
	}

	@Test
	void bundlesThatLiveLongerDoNotKeepServers() throws Exception {
		DefaultSslBundleRegistry registry = new DefaultSslBundleRegistry("web", bundle(first, first));
		WeakReference<Server> server = serverOfAContextThatIsClosed(registry);
		Awaitility.await().untilAsserted(() -> {
			System.gc();
			assertThat(server.get()).isNull();
		});
		registry.updateBundle("web", bundle(second, second));
	}

	private static WeakReference<Server> serverOfAContextThatIsClosed(SslBundles bundles) {
		try (ConfigurableApplicationContext context = run(bundles, "lf.server.ssl.bundle=web")) {
			return new WeakReference<>(context.getBean(LeaderFollowersServers.class).get("default"));
		}
	}

	@Test
	void clientsThatNeedACertificateAreTurnedAwayWithoutOne(CapturedOutput output) throws Exception {
		DefaultSslBundleRegistry registry = new DefaultSslBundleRegistry("web",
				SslBundle.of(new PemSslStoreBundle(details(first, first),
						PemSslStoreDetails.forCertificate(second.certificatePem()))));
		try (ConfigurableApplicationContext context = run(registry, "lf.server.ssl.bundle=web",
				"lf.server.ssl.client-auth=need")) {
			try (TlsClient client = new TlsClient(port(context), second)) {
				assertThat(client.ask("hello")).isEqualTo("hello");
			}
			for (TestCertificate own : new TestCertificate[] { null, stranger }) {
				assertThatExceptionOfType(IOException.class).isThrownBy(() -> {
					try (TlsClient client = new TlsClient(port(context), own)) {
						assertThat(client.ask("hello")).isEqualTo("<closed>");
						throw new IOException("Closed");
					}
				});
			}
			Awaitility.await().untilAsserted(() -> assertThat(tls(context).failedHandshakes()).isEqualTo(2));
			assertThat(tls(context).completedHandshakes()).isEqualTo(1);
		}
		assertThat(output).doesNotContain("has no trust store");
	}

	/** Such a bundle consists of managers, which do not show whom they trust. */
	@Test
	void theTrustOfABundleWithoutStoresIsUnknown(CapturedOutput output) {
		new BundleTls("web", new Ssl(null, "web", ClientAuth.NEED, 1000, null))
			.warnOfUnlimitedTrust(SslBundle.of(SslStoreBundle.NONE));
		assertThat(output).doesNotContain("has no trust store");
	}

	@Test
	void clientCertificatesWithoutATrustStoreAreWarnedOf(CapturedOutput output) throws Exception {
		DefaultSslBundleRegistry registry = new DefaultSslBundleRegistry("web", bundle(first, first));
		run(registry, "lf.server.ssl.bundle=web", "lf.server.ssl.client-auth=want").close();
		assertThat(output).contains("Clients are asked for certificates, but the SSL bundle 'web' has no trust store: "
				+ "those of every authority that the JDK trusts will be accepted");
		assertThat(output.toString().split("has no trust store", -1)).as("told once").hasSize(2);
	}

	@Test
	void unknownBundle(CapturedOutput output) throws Exception {
		write(first);
		fails(pem("lf.server.ssl.bundle=wep"));
		assertThat(output).contains(
				"The property 'lf.server.ssl.bundle' names the SSL bundle 'wep', but there is no such SSL bundle. Known SSL bundles: web.")
			.contains(
					"Did you mean 'web'? To have an SSL bundle 'wep', set 'spring.ssl.bundle.pem.wep.keystore.certificate' "
							+ "and 'spring.ssl.bundle.pem.wep.keystore.private-key', or the properties of 'spring.ssl.bundle.jks.wep'.");
	}

	@Test
	void unknownBundleWithoutAny(CapturedOutput output) {
		fails("lf.server.ssl.bundle=web");
		assertThat(output).contains("but there is no such SSL bundle. There are no SSL bundles.");
	}

	@Test
	void propertiesThatNeedABundle(CapturedOutput output) {
		fails("lf.server.ssl.client-auth=need");
		assertThat(output).contains("'lf.server.ssl.client-auth'")
			.contains("Is used only if 'lf.server.ssl.bundle' is set.");
		fails("lf.server.ssl.max-handshakes=-1");
		assertThat(output).contains("'lf.server.ssl.max-handshakes'");
		fails("lf.server.ssl.max-handshake-rate=5");
		assertThat(output).contains("'lf.server.ssl.max-handshake-rate'");
		fails("lf.server.ssl.enabled=true");
		assertThat(output).contains("'lf.server.ssl.bundle'")
			.contains("A value is required, because 'lf.server.ssl.enabled' is 'true'.");
	}

	@Test
	void handshakesAreLimited(CapturedOutput output) throws Exception {
		DefaultSslBundleRegistry registry = new DefaultSslBundleRegistry("web", bundle(first, first));
		try (ConfigurableApplicationContext context = run(registry, "lf.server.ssl.bundle=web",
				"lf.server.ssl.max-handshakes=1", "lf.server.ssl.max-handshake-rate=0");
				Socket silent = new Socket("127.0.0.1", port(context))) {
			Awaitility.await().until(() -> tls(context).limitReached() > 0);
			assertThat(tls(context).pendingHandshakes()).isOne();
			silent.close();
			try (TlsClient client = new TlsClient(port(context))) {
				assertThat(client.ask("hello")).isEqualTo("hello");
			}
		}
		write(first);
		fails(pem("lf.server.ssl.bundle=web", "lf.server.ssl.max-handshakes=-1"));
		assertThat(output).contains("'lf.server.ssl.max-handshakes'").contains("Must be from 0 to 2147483647.");
		fails(pem("lf.server.ssl.bundle=web", "lf.server.ssl.max-handshake-rate=1000001"));
		assertThat(output).contains("'lf.server.ssl.max-handshake-rate'").contains("Must be from 0 to 1000000.");
	}

	@Test
	void bundleWithoutAKey(CapturedOutput output) throws Exception {
		write(first);
		fails("lf.server.ssl.bundle=trust", "spring.ssl.bundle.pem.trust.truststore.certificate="
				+ this.directory.resolve("certificate.pem").toUri());
		assertThat(output).contains("'lf.server.ssl.bundle'")
			.contains(
					"The SSL bundle 'trust' cannot be used: it has no private key with a certificate, which a server needs.");
	}

	@Test
	void bundleWhoseKeyBelongsToAnotherCertificate(CapturedOutput output) throws Exception {
		write(first);
		Files.writeString(this.directory.resolve("key.pem"), second.keyPem());
		fails(pem("lf.server.ssl.bundle=web"));
		assertThat(output).contains(
				"The SSL bundle 'web' cannot be used: its private key does not belong to its certificate (CN=first).");
	}

	@Test
	void bundleWithAProtocolThatDoesNotExist(CapturedOutput output) throws Exception {
		write(first);
		fails(pem("lf.server.ssl.bundle=web", "spring.ssl.bundle.pem.web.options.enabled-protocols=TLSv1.9"));
		assertThat(output).contains("The SSL bundle 'web' cannot be used: 'protocols' must be supported")
			.contains("'TLSv1.9' is not");
	}

	@Test
	void theOptionsOfABundleAndTheLimitsReachTheEngine() throws Exception {
		BundleTls tls = SslPropertiesMapper.of(null)
			.map(TestProperties.bind("lf.server", LfProperties.Server.class, "ssl.bundle=web", "ssl.client-auth=want",
					"ssl.max-handshakes=7", "ssl.max-handshake-rate=8"));
		SslOptions options = SslOptions.of(Set.of("TLS_AES_128_GCM_SHA256"), Set.of("TLSv1.3"));
		SslBundle bundle = SslBundle.of(new PemSslStoreBundle(details(first, first), null), null, options);
		assertThat(tls.create(bundle)).hasFieldOrPropertyWithValue("protocols", List.of("TLSv1.3"))
			.hasFieldOrPropertyWithValue("cipherSuites", List.of("TLS_AES_128_GCM_SHA256"))
			.hasFieldOrPropertyWithValue("clientAuth", ClientAuth.WANT)
			.hasFieldOrPropertyWithValue("maxHandshakes", 7)
			.hasFieldOrPropertyWithValue("maxHandshakeRate", 8);
	}

	@Test
	void unusableBundleIsFoundBeforeAnyServerIsStarted(CapturedOutput output) throws Exception {
		write(first);
		assertThatExceptionOfType(Exception.class)
			.isThrownBy(() -> run(TwoServers.class, pem("lf.servers.second.port=0", "lf.servers.second.ssl.bundle=web",
					"spring.ssl.bundle.pem.web.options.enabled-protocols=TLSv1.9"))
				.close());
		assertThat(output).contains("'lf.servers.second.ssl.bundle'").doesNotContain("Server 'default'");
	}

	private void write(TestCertificate certificate) throws IOException, GeneralSecurityException {
		Files.writeString(this.directory.resolve("key.pem"), certificate.keyPem());
		Files.writeString(this.directory.resolve("certificate.pem"), certificate.certificatePem());
	}

	private String[] pem(String... properties) {
		String[] all = new String[properties.length + 2];
		System.arraycopy(properties, 0, all, 2, properties.length);
		String prefix = "spring.ssl.bundle.pem.web.keystore.";
		all[0] = prefix + "certificate=" + this.directory.resolve("certificate.pem").toUri();
		all[1] = prefix + "private-key=" + this.directory.resolve("key.pem").toUri();
		return all;
	}

	private static SslBundle bundle(TestCertificate certificate, TestCertificate key) throws GeneralSecurityException {
		return SslBundle.of(new PemSslStoreBundle(details(certificate, key), null));
	}

	private static PemSslStoreDetails details(TestCertificate certificate, TestCertificate key)
			throws GeneralSecurityException {
		return PemSslStoreDetails.forCertificate(certificate.certificatePem()).withPrivateKey(key.keyPem());
	}

	private static void fails(String... properties) {
		assertThatExceptionOfType(Exception.class).isThrownBy(() -> run(Echo.class, properties).close());
	}

	private static ConfigurableApplicationContext run(SslBundles bundles, String... properties) {
		return run(
				(builder) -> builder.sources(EchoAlone.class)
					.initializers((context) -> context.getBeanFactory().registerSingleton("bundles", bundles)),
				properties);
	}

	private static ConfigurableApplicationContext run(Class<?> configuration, String... properties) {
		return run((builder) -> builder.sources(configuration), properties);
	}

	private static ConfigurableApplicationContext run(Consumer<SpringApplicationBuilder> sources,
			String... properties) {
		SpringApplicationBuilder builder = new SpringApplicationBuilder().web(WebApplicationType.NONE)
			.bannerMode(Banner.Mode.OFF)
			.registerShutdownHook(false);
		sources.accept(builder);
		String[] arguments = new String[properties.length + 1];
		arguments[0] = "--lf.server.port=0";
		for (int i = 0; i < properties.length; i++) {
			arguments[i + 1] = "--" + properties[i];
		}
		return builder.run(arguments);
	}

	private static int port(ApplicationContext context) {
		return context.getEnvironment().getRequiredProperty("local.lf.server.port", Integer.class);
	}

	private static ServerSnapshot.Tls tls(ApplicationContext context) {
		ServerSnapshot.Tls tls = context.getBean(LeaderFollowersServers.class).get("default").snapshot().tls();
		assertThat(tls).isNotNull();
		return tls;
	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration({ LeaderFollowersAutoConfiguration.class, SslAutoConfiguration.class })
	static class Echo {

		@Bean
		@LfHandler
		MessageHandler echo() {
			return new EchoHandler();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class TwoServers extends Echo {

		@Bean
		@LfHandler(server = "second")
		MessageHandler second() {
			return new EchoHandler();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration(LeaderFollowersAutoConfiguration.class)
	static class EchoAlone {

		@Bean
		@LfHandler
		MessageHandler echo() {
			return new EchoHandler();
		}

	}

	/** Counts the listeners for updates. */
	static class CountingBundles implements SslBundles {

		private final AtomicInteger handlers = new AtomicInteger();

		private final DefaultSslBundleRegistry registry;

		CountingBundles(DefaultSslBundleRegistry registry) {
			this.registry = registry;
		}

		@Override
		public SslBundle getBundle(String name) throws NoSuchSslBundleException {
			return this.registry.getBundle(name);
		}

		@Override
		public void addBundleUpdateHandler(String name, Consumer<SslBundle> updateHandler) {
			this.handlers.incrementAndGet();
			this.registry.addBundleUpdateHandler(name, updateHandler);
		}

		@Override
		public void addBundleRegisterHandler(BiConsumer<String, SslBundle> registerHandler) {
			this.registry.addBundleRegisterHandler(registerHandler);
		}

		@Override
		public List<String> getBundleNames() {
			return this.registry.getBundleNames();
		}

	}

	/** Sends and receives lines over TLS. */
	private static final class TlsClient implements Closeable {

		private final SSLSocket socket;

		private final BufferedReader reader;

		TlsClient(int port) throws IOException, GeneralSecurityException {
			this(port, null);
		}

		TlsClient(int port, TestCertificate own) throws IOException, GeneralSecurityException {
			SSLContext context = TestCertificate.client(own, first, second);
			this.socket = (SSLSocket) context.getSocketFactory().createSocket("localhost", port);
			this.socket.setSoTimeout(20_000);
			this.reader = new BufferedReader(
					new InputStreamReader(this.socket.getInputStream(), StandardCharsets.UTF_8));
		}

		String ask(String line) throws IOException {
			this.socket.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
			String answer = this.reader.readLine();
			return (answer != null) ? answer : "<closed>";
		}

		Certificate certificate() throws IOException {
			return this.socket.getSession().getPeerCertificates()[0];
		}

		@Override
		public void close() throws IOException {
			this.socket.close();
		}

	}

}
