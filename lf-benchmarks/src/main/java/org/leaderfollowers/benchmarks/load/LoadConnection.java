package org.leaderfollowers.benchmarks.load;

import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;

/**
 * One connection and how far it is. In an open loop two threads write to it, one at a
 * time: what they share is guarded by its monitor.
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

	/** Bytes of the next reply that have come. Of the receiving thread only. */
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
