package org.leaderfollowers.benchmarks.exchange;

import java.nio.ByteBuffer;
import java.time.Duration;

import org.leaderfollowers.Correlation;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.TcpClient;

/**
 * The client of this project, with its defaults.
 */
final class LeaderFollowersClient implements Client {

	private final LeaderFollowersPool pool = LeaderFollowersPool.builder().name("client").build();

	private final TcpClient client;

	LeaderFollowersClient(int port) {
		this.client = TcpClient.builder(this.pool)
			.address("127.0.0.1", port)
			.framing(new Resp())
			.correlation(Correlation.inOrder())
			.build();
		this.client.start();
		if (!this.client.awaitConnected(Duration.ofSeconds(10))) {
			throw new IllegalStateException("Not connected: " + this.client.snapshot());
		}
	}

	@Override
	public byte[] echo(byte[] text) {
		return Resp.text(this.client.exchange(ByteBuffer.wrap(Resp.echo(text))));
	}

	@Override
	public void close() {
		this.pool.close();
	}

}
