package org.leaderfollowers.sample.tier;

import java.util.UUID;

/**
 * What a back end wants to know before it carries out an order: whether the teller
 * confirms the amount.
 *
 * @param order the order
 */
public record ConfirmationRequest(UUID order) {

}
