package org.leaderfollowers.spring.session;

/**
 * A node that can be reached.
 *
 * @param id the identifier of this run of the node
 * @param sessions how many sessions it holds, as far as it has told
 * @param self whether it is this node
 */
public record SessionNode(String id, int sessions, boolean self) {
}
