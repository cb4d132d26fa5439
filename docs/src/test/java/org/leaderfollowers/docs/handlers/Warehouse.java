package org.leaderfollowers.docs.handlers;

/**
 * A type that the application supplies to handler methods.
 *
 * @param server the name of the server
 * @param unit how many items come in one box
 */
record Warehouse(String server, int unit) {

}
