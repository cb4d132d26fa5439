/**
 * The Leader/Followers engine.
 */
module org.leaderfollowers {

	requires org.slf4j;
	requires static transitive org.jspecify;

	exports org.leaderfollowers;

}
