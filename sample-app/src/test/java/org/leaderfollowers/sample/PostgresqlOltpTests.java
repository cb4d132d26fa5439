package org.leaderfollowers.sample;

/**
 * {@link OltpTests} with PostgreSQL.
 */
@PostgresqlTest
class PostgresqlOltpTests extends OltpTests {

}
