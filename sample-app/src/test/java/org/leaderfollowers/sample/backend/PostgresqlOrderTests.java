package org.leaderfollowers.sample.backend;

import org.leaderfollowers.sample.PostgresqlTest;

/**
 * {@link OrderTests} with PostgreSQL.
 */
@PostgresqlTest
class PostgresqlOrderTests extends OrderTests {

}
