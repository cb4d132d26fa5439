package org.leaderfollowers.sample;

import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;

/**
 * {@link ContentionTests} with PostgreSQL.
 */
@SpringBootTest(webEnvironment = WebEnvironment.NONE,
		properties = { "lf.server.port=0", "sample.oltp.max-attempts=3", "sample.oltp.scale=2",
				"spring.datasource.hikari.data-source-properties.options=-c lock_timeout=50ms" })
@PostgresqlTest
class PostgresqlContentionTests extends ContentionTests {

}
