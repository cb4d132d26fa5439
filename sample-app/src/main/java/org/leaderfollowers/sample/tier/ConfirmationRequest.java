package org.leaderfollowers.sample.tier;

import java.util.UUID;

/**
 * The question of a back end before it carries out an order: whether the teller confirms
 * the amount.
 *
 * @param order the order
 */
public record ConfirmationRequest(UUID order) {

}
