package org.leaderfollowers.sample;

import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.test.annotation.DirtiesContext;

/**
 * {@link ContentionTests} with H2.
 */
@SpringBootTest(webEnvironment = WebEnvironment.NONE, properties = { "lf.server.port=0", "sample.oltp.max-attempts=3",
		"sample.oltp.scale=2",
		"spring.datasource.url=jdbc:h2:mem:contention;DB_CLOSE_DELAY=-1;DB_CLOSE_ON_EXIT=FALSE;LOCK_TIMEOUT=50" })
@DirtiesContext
class H2ContentionTests extends ContentionTests {

}
