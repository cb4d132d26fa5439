package org.leaderfollowers.sample.frontend;

import java.util.UUID;

import org.leaderfollowers.Connection;

/**
 * A back end has asked for the confirmation of an order, and waits for the answer.
 *
 * @param backEnd the connection that the order was sent on
 * @param number the number of the request
 * @param order identifies the order
 */
record Callback(Connection backEnd, long number, UUID order) {

}
