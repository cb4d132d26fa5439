/**
 * The Leader/Followers engine.
 */
module org.leaderfollowers {

	requires java.management;
	requires org.slf4j;
	requires static transitive org.jspecify;

	exports org.leaderfollowers;

}
