package org.leaderfollowers.sample;

/**
 * The tiers of the system, from the clients to the database:
 * <ul>
 * <li>The front-end communication server validates the requests of clients and routes
 * them to back ends.
 * <li>Two back ends perform the transactions. Each account has its home at one of them,
 * and the other takes over while that is away.
 * <li>The database is shared by both back ends.
 * </ul>
 * By default all of them run in one process. A profile of the name {@code frontend},
 * {@code backend1}, {@code backend2} or {@code database} makes a process of its own for
 * one of them. The constants are expressions for
 * {@link org.springframework.context.annotation.Profile @Profile}.
 */
public final class Tiers {

	/** Where the front end runs. */
	public static final String FRONT_END = "!backend1 & !backend2 & !database";

	/** Where the first back end runs. */
	public static final String BACK_END_1 = "!frontend & !backend2 & !database";

	/** Where the second back end runs. */
	public static final String BACK_END_2 = "!frontend & !backend1 & !database";

	/** Where transactions are performed. */
	public static final String BACK_END = "!frontend & !database";

	/** Where the database is accessed. */
	public static final String DATA_SOURCE = "!frontend";

	/** Where the database is offered to the other processes. */
	public static final String DATABASE = "database";

	private Tiers() {
	}

}
