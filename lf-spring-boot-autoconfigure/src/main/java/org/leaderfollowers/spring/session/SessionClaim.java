package org.leaderfollowers.spring.session;

import java.time.Duration;

/**
 * A connection that wants a name.
 *
 * @param name the name
 * @param node the identifier of the node that holds the connection
 * @param server the name of the server of the connection
 * @param maxTakeovers how often the name may be taken from an open connection in a
 * period, from 1; further claims are refused
 * @param takeoverPeriod the length of the period
 */
public record SessionClaim(String name, String node, String server, int maxTakeovers, Duration takeoverPeriod) {
}
