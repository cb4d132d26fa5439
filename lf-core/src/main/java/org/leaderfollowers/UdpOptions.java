package org.leaderfollowers;

/**
 * What a {@link UdpServer} was built with, beside its name, address and handler.
 *
 * @param maxMessageSize the largest datagram that is handled, in bytes of payload
 * @param maxInFlight how many datagrams may be handled or suspended at a time
 * @param maxReplyRatio how many times as much as a datagram the replies to it may take
 * @param suspensionNanos how long a datagram may be suspended, or 0 for ever
 * @param receiveBufferSize of the system, in bytes, or 0 for its default
 * @param sendBufferSize of the system, in bytes, or 0 for its default
 * @param transfer how datagrams get into and out of the socket
 */
record UdpOptions(int maxMessageSize, int maxInFlight, int maxReplyRatio, long suspensionNanos, int receiveBufferSize,
		int sendBufferSize, DatagramTransfer transfer) {
}
