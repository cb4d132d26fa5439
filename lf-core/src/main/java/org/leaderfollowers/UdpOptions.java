package org.leaderfollowers;

/**
 * The options of a {@link UdpServer}, except its name, address and handler.
 *
 * @param maxMessageSize the largest datagram that is handled, in bytes of payload
 * @param maxInFlight how many datagrams may be handled or suspended at a time
 * @param maxReplyRatio the maximum ratio of the size of all replies to the size of their
 * datagram
 * @param maxReplyRate how many replies one address and port gets in a second in the long
 * run, or 0 for no limit
 * @param suspensionNanos how long a datagram may be suspended, or 0 for no limit
 * @param receiveBufferSize the receive buffer of the system, in bytes, or 0 for its
 * default
 * @param sendBufferSize the send buffer of the system, in bytes, or 0 for its default
 * @param transfer receives and sends datagrams
 */
record UdpOptions(int maxMessageSize, int maxInFlight, int maxReplyRatio, int maxReplyRate, long suspensionNanos,
		int receiveBufferSize, int sendBufferSize, DatagramTransfer transfer) {
}
