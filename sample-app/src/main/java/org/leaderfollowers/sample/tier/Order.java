package org.leaderfollowers.sample.tier;

import java.util.UUID;

import org.leaderfollowers.sample.TransactionRequest;

/**
 * An order of the front end to a back end.
 *
 * @param id identifies the order. If the order is sent again, to the same back end or to
 * the other one, it keeps its identifier, so that it is carried out at most once
 * @param request the request of the client
 */
public record Order(UUID id, TransactionRequest request) {

}
