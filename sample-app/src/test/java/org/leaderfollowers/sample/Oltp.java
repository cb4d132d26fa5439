package org.leaderfollowers.sample;

import java.time.Duration;

import org.leaderfollowers.spring.test.client.LfTestClient;
import org.leaderfollowers.spring.test.client.TcpTestClient;

/** The requests and replies of a client of the sample. */
public final class Oltp {

	private static final Duration TIMEOUT = Duration.ofSeconds(120);

	private Oltp() {
	}

	public static TcpTestClient connect(int port) {
		return LfTestClient.tcp(port).timeout(TIMEOUT).connect();
	}

	public static String request(long account, long teller, long branch, long delta) {
		return "{\"account\":%d,\"teller\":%d,\"branch\":%d,\"delta\":%d}".formatted(account, teller, branch, delta);
	}

	public static String committed(long account, long balance, long transaction) {
		return "{\"status\":\"COMMITTED\",\"account\":%d,\"balance\":%d,\"transaction\":%d}".formatted(account, balance,
				transaction);
	}

	public static String rejected(String reason) {
		return "{\"status\":\"REJECTED\",\"reason\":\"%s\"}".formatted(reason);
	}

	public static String invalid(String reason) {
		return "{\"status\":\"INVALID\",\"reason\":\"%s\"}".formatted(reason);
	}

}
