package org.leaderfollowers.sample.backend;

import java.util.function.Consumer;

import org.junit.jupiter.api.Test;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcClientAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ScaledDatabaseInitializer} and its scripts, with a database that
 * outlives the application.
 */
class ScaledDatabaseInitializerTests {

	private final ApplicationContextRunner runner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class, JdbcTemplateAutoConfiguration.class,
				JdbcClientAutoConfiguration.class))
		.withUserConfiguration(DatabaseConfiguration.class, Properties.class)
		.withPropertyValues("spring.datasource.url=jdbc:h2:mem:scaled;DB_CLOSE_DELAY=-1",
				"spring.sql.init.mode=always");

	@Test
	void addsWhatLacksAndKeepsWhatIsThere() {
		start(1, (jdbc) -> {
			assertSize(jdbc, 1);
			jdbc.sql("UPDATE account SET balance = 5 WHERE id = 42").update();
		});
		start(3, (jdbc) -> {
			assertSize(jdbc, 3);
			assertThat(number(jdbc, "SELECT SUM(balance) FROM account")).isEqualTo(5);
			assertThat(number(jdbc, "SELECT COUNT(*) FROM account WHERE branch_id = 3 AND id BETWEEN 20001 AND 30000"))
				.isEqualTo(10_000);
			assertThat(number(jdbc, "SELECT COUNT(*) FROM teller WHERE branch_id = 2 AND id BETWEEN 11 AND 20"))
				.isEqualTo(10);
		});
		start(2, (jdbc) -> assertSize(jdbc, 3));
	}

	private void start(int scale, Consumer<JdbcClient> test) {
		this.runner.withPropertyValues("sample.oltp.scale=" + scale).run((context) -> {
			assertThat(context).hasNotFailed();
			test.accept(context.getBean(JdbcClient.class));
		});
	}

	private void assertSize(JdbcClient jdbc, int scale) {
		assertThat(number(jdbc, "SELECT COUNT(*) FROM branch")).isEqualTo(scale);
		assertThat(number(jdbc, "SELECT COUNT(*) FROM teller")).isEqualTo(scale * 10);
		assertThat(number(jdbc, "SELECT COUNT(*) FROM account")).isEqualTo(scale * 10_000);
		assertThat(number(jdbc, "SELECT MAX(id) FROM account")).isEqualTo(scale * 10_000);
	}

	private long number(JdbcClient jdbc, String sql) {
		return jdbc.sql(sql).query(Long.class).single();
	}

	@EnableConfigurationProperties(OltpProperties.class)
	static class Properties {

	}

}
