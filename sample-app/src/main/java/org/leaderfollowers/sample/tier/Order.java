package org.leaderfollowers.sample.tier;

import java.util.UUID;

import org.leaderfollowers.sample.TransactionRequest;

/**
 * What the front end wants a back end to do.
 *
 * @param id tells the order from all others. An order that is sent again, to the same
 * back end or to the other one, keeps it, and so is carried out at most once
 * @param request the request of the client
 */
public record Order(UUID id, TransactionRequest request) {

}
