package org.leaderfollowers.spring.server;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.EchoHandler;

import org.springframework.boot.diagnostics.FailureAnalysis;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ServerBindException} and the analyzers of its subclasses.
 */
class ServerBindExceptionTests {

	private final LeaderFollowersPool pool = LeaderFollowersPool.builder().build();

	private final TcpServer server = TcpServer.builder(this.pool)
		.name("orders")
		.port(80)
		.framing(Framing.line())
		.handler(new EchoHandler())
		.build();

	private final ManagedServer byProperties = ManagedServer.ofProperties("orders", "lf.servers.orders",
			() -> this.server);

	private final ManagedServer byBean = ManagedServer.ofBean("orderServer", this.server);

	@AfterEach
	void close() {
		this.pool.close();
	}

	@Test
	void portInUse() {
		FailureAnalysis analysis = analyze("Address already in use", this.byBean);
		assertThat(analysis.getCause()).hasMessage("Port 80 is already in use")
			.hasRootCauseMessage("Address already in use");
		assertThat(analysis.getDescription())
			.isEqualTo("Server 'orders' could not be started: port 80 is already in use.");
		assertThat(analysis.getAction())
			.isEqualTo("Stop the other process, or the other server of this application, that listens on port 80; "
					+ "or set the port of the bean 'orderServer' to another port. 0 stands for any free port.");
	}

	@Test
	void addressNotAvailable() {
		FailureAnalysis analysis = analyze("Can't assign requested address: bind", this.byProperties);
		String host = this.server.address().getHostString();
		assertThat(analysis.getCause()).hasMessage("Address %s is not available", host);
		assertThat(analysis.getDescription())
			.startsWith("Server 'orders' could not be started: no network interface of this machine has the address ")
			.endsWith(host + ".");
		assertThat(analysis.getAction()).isEqualTo("Set the property 'lf.servers.orders.address' "
				+ "to an address of this machine, or remove it to listen on all of them.");
	}

	@Test
	void portNotPermitted() {
		FailureAnalysis analysis = analyze("Permission denied", this.byProperties);
		assertThat(analysis.getCause()).hasMessage("Listening on port 80 is not permitted");
		assertThat(analysis.getDescription())
			.isEqualTo("Server 'orders' could not be started: the process is not permitted to listen on port 80.");
		assertThat(analysis.getAction()).isEqualTo("Set the property 'lf.servers.orders.port' to a port from 1024 on: "
				+ "most systems reserve the lower ones for privileged processes. If it must be port 80, "
				+ "give the process the permission, for example the capability CAP_NET_BIND_SERVICE on Linux.");
	}

	@Test
	void otherReasonsAreLeftAlone() {
		UncheckedIOException failure = new UncheckedIOException(new IOException("Too many open files"));
		assertThat(ServerBindException.of(failure, this.server, this.byBean)).isSameAs(failure);
		UncheckedIOException unknown = new UncheckedIOException(new BindException());
		assertThat(ServerBindException.of(unknown, this.server, this.byBean)).isSameAs(unknown);
	}

	private FailureAnalysis analyze(String message, ManagedServer managed) {
		RuntimeException failure = ServerBindException.of(new UncheckedIOException(new BindException(message)),
				this.server, managed);
		FailureAnalysis analysis = new ServerBindException.Analyzer().analyze(new IllegalStateException(failure));
		assertThat(analysis).isNotNull();
		return analysis;
	}

}
