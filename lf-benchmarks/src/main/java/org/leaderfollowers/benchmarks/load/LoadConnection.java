package org.leaderfollowers.benchmarks.load;

import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;

/**
 * One connection and its progress. In an open loop, two threads write to it, one at a
 * time; its monitor guards their shared state.
 */
final class LoadConnection {

	final int id;

	final SocketChannel channel;

	final SelectionKey key;

	/** When the last requests were sent, by their number modulo the pipelining. */
	final long[] sentNs;

	/** Requests that were sent, at least in part: their {@link #sentNs} is known. */
	long begun;

	/** Requests that were sent as a whole. */
	long sent;

	/** Bytes of the next request that were sent. */
	int sentOffset;

	long replied;

	/** Bytes of the next reply that have come. Only used by the receiving thread. */
	int repliedOffset;

	boolean waitsToWrite;

	/** The second thread could not write. */
	boolean broken;

	boolean closed;

	LoadConnection(int id, SocketChannel channel, SelectionKey key, int pipeline) {
		this.id = id;
		this.channel = channel;
		this.key = key;
		this.sentNs = new long[pipeline];
	}

}
