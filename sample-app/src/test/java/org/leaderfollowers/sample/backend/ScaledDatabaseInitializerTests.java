package org.leaderfollowers.sample.backend;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.function.Consumer;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcClientAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.dao.ConcurrencyFailureException;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

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

	@TempDir
	private Path directory;

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

	@Test
	void scriptThatFailsAgainFailsTheStart() throws IOException {
		withScript("broken", "THIS IS NO SQL")
			.run((context) -> assertThat(context).getFailure().rootCause().hasMessageContaining("THIS IS NO SQL"));
	}

	/** Another back end may have created the same objects at that moment. */
	@Test
	void scriptThatFailsIsRunAgain() throws IOException {
		withScript("again", """
				CREATE TABLE IF NOT EXISTS attempt (id INT DEFAULT 0);
				INSERT INTO attempt (id) VALUES (1);
				SELECT 1 / (COUNT(*) - 1) FROM attempt;
				""")
			.run((context) -> assertThat(number(context.getBean(JdbcClient.class), "SELECT COUNT(*) FROM attempt"))
				.isEqualTo(2));
	}

	@Test
	void scriptMayHaveAnotherSeparator() throws IOException {
		withScript("separator", "CREATE TABLE text (line VARCHAR); @@ INSERT INTO text (line) VALUES ('a;${scale}') @@")
			.withPropertyValues("spring.sql.init.separator=@@")
			.run((context) -> assertThat(
					context.getBean(JdbcClient.class).sql("SELECT line FROM text").query(String.class).single())
				.isEqualTo("a;1"));
	}

	/** A conflict is repeated; other failures leave the outcome unknown. */
	@Test
	void rowThatIsLockedForTooLongIsAConflict() {
		String url = "jdbc:h2:mem:locked;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=1";
		this.runner.withPropertyValues("spring.datasource.url=" + url).run((context) -> {
			try (Connection other = DriverManager.getConnection(url, "sa", "");
					Statement statement = other.createStatement()) {
				other.setAutoCommit(false);
				statement.execute("SELECT * FROM branch WHERE id = 1 FOR UPDATE");
				JdbcClient jdbc = context.getBean(JdbcClient.class);
				assertThatExceptionOfType(ConcurrencyFailureException.class)
					.isThrownBy(() -> jdbc.sql("UPDATE branch SET balance = 5 WHERE id = 1").update());
				other.rollback();
			}
		});
	}

	private ApplicationContextRunner withScript(String database, String sql) throws IOException {
		Path script = Files.writeString(this.directory.resolve(database + ".sql"), sql);
		return this.runner.withPropertyValues(
				"spring.datasource.url=jdbc:h2:mem:%s;DB_CLOSE_DELAY=-1".formatted(database),
				"spring.sql.init.schema-locations=" + script.toUri(),
				"spring.sql.init.data-locations=optional:classpath:none.sql");
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
