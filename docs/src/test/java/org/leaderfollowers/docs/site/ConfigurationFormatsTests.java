package org.leaderfollowers.docs.site;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link ConfigurationFormats}.
 */
class ConfigurationFormatsTests {

	@Test
	void yamlBecomesProperties() {
		assertThat(ConfigurationFormats.toProperties("""
				lf:
				  server:
				    port: 7070
				    # Of the load balancer
				    trusted:
				    - 10.0.0.0/24
				    - 10.0.1.0/24
				  files:
				    "[a.b]": "C:\\\\x"
				    "a b": ""
				""")).isEqualTo("""
				lf.server.port=7070
				# Of the load balancer
				lf.server.trusted[0]=10.0.0.0/24
				lf.server.trusted[1]=10.0.1.0/24
				lf.files[a.b]=C:\\\\x
				lf.files.a\\ b=""".stripTrailing());
	}

	@Test
	void documentsRemainApart() {
		assertThat(ConfigurationFormats.toProperties("lf:\n  enabled: true\n---\nlf:\n  enabled: false\n"))
			.isEqualTo("lf.enabled=true\n#---\nlf.enabled=false");
	}

	@Test
	void propertiesBecomeYaml() {
		assertThat(ConfigurationFormats.toYaml("lf.pool.parallelism=2\nlf.pool.name=*\nlf.enabled=true")).isEqualTo("""
				lf:
				  pool:
				    parallelism: 2
				    name: '*'
				  enabled: true""");
	}

	@Test
	void linesThatAreNoPropertiesAreRejected() {
		assertThatIllegalArgumentException().isThrownBy(() -> ConfigurationFormats.toYaml("lf.enabled"))
			.withMessageContaining("lf.enabled");
	}

	@Test
	void onlyConfigurationOfApplicationsIsConfiguration() {
		assertThat(ConfigurationFormats.isConfiguration("lf:\n  enabled: true\n")).isTrue();
		assertThat(ConfigurationFormats.isConfiguration("- alert: Slow\n")).isFalse();
		assertThat(ConfigurationFormats.isConfiguration("global:\n  scrape_interval: 15s\nlf:\n  a: b\n")).isFalse();
		assertThat(ConfigurationFormats.isConfiguration("")).isFalse();
	}

}
