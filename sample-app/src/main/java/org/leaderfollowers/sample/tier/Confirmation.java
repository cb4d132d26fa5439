package org.leaderfollowers.sample.tier;

/**
 * The answer to a {@link ConfirmationRequest}.
 *
 * @param given whether the teller confirms the amount
 */
public record Confirmation(boolean given) {

}
