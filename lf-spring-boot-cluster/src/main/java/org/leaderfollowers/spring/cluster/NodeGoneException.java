package org.leaderfollowers.spring.cluster;

/**
 * A message was not sent, because its node is gone.
 */
@SuppressWarnings("serial")
class NodeGoneException extends IllegalStateException {

	NodeGoneException(String node) {
		super("The node %s is gone".formatted(node));
	}

}
