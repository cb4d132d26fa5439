package org.leaderfollowers;

import java.io.IOException;
import java.net.ProtocolFamily;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;

/** Provides selectors of a test, and the system's channels. */
abstract class TestSelectors extends SelectorProvider {

	@Override
	public DatagramChannel openDatagramChannel() throws IOException {
		return provider().openDatagramChannel();
	}

	@Override
	public DatagramChannel openDatagramChannel(ProtocolFamily family) throws IOException {
		return provider().openDatagramChannel(family);
	}

	@Override
	public Pipe openPipe() throws IOException {
		return provider().openPipe();
	}

	@Override
	public ServerSocketChannel openServerSocketChannel() throws IOException {
		return provider().openServerSocketChannel();
	}

	@Override
	public SocketChannel openSocketChannel() throws IOException {
		return provider().openSocketChannel();
	}

}
