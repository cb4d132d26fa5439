package org.leaderfollowers.spring.test.app;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.server.UnknownNameException;
import org.leaderfollowers.spring.test.LfTestClients;
import org.leaderfollowers.spring.test.LocalLfServerPort;
import org.leaderfollowers.spring.test.client.InMemoryTestClient;
import org.leaderfollowers.spring.test.client.TcpTestClient;

import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.ApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/** Tests of the beans in a {@code @SpringBootTest}. */
@SpringBootTest(properties = "lf-test.random-ports=true")
@Timeout(120)
class WholeApplicationTests {

	@Autowired
	private LfTestClients clients;

	@LocalLfServerPort
	private int port;

	@LocalLfServerPort(server = "echo")
	private Integer echoPort;

	private final int portOfConstructor;

	private int portOfAnnotatedMethod;

	private int portOfMethod;

	WholeApplicationTests(@LocalLfServerPort("echo") int port) {
		this.portOfConstructor = port;
	}

	@Autowired
	void setPort(@LocalLfServerPort("echo") int port) {
		this.portOfMethod = port;
	}

	@Autowired
	@LocalLfServerPort("echo")
	void setPortOfAnnotatedMethod(int port) {
		this.portOfAnnotatedMethod = port;
	}

	@Test
	void portsAreInjectedEverywhere(@LocalLfServerPort int defaultPort, @LocalLfServerPort("echo") int echoPort,
			@Autowired LeaderFollowersServers servers) {
		assertThat(this.port).isEqualTo(defaultPort).isEqualTo(servers.get("default").port());
		assertThat(this.echoPort).isEqualTo(echoPort)
			.isEqualTo(this.portOfConstructor)
			.isEqualTo(this.portOfAnnotatedMethod)
			.isEqualTo(this.portOfMethod)
			.isEqualTo(servers.get("echo").port());
	}

	@Test
	void clientsKnowTheirServers() {
		try (TcpTestClient client = this.clients.connect(); TcpTestClient echo = this.clients.connect("echo")) {
			assertThat(client.exchange("you")).isEqualTo("Hello you");
			assertThat(echo.exchange("x\ny")).isEqualTo("x\ny");
		}
	}

	@Test
	void handlersAreCalledInMemoryWithTheRealService() {
		try (InMemoryTestClient client = this.clients.openInMemory()) {
			assertThat(client.exchange("you")).isEqualTo("Hello you");
		}
	}

	@Test
	void eventSourcesAreWaitedOn(@Autowired BlockingQueue<String> alarmQueue, @Autowired AlarmHandler handler)
			throws InterruptedException {
		alarmQueue.add("fire");
		assertThat(handler.alarms.poll(60, TimeUnit.SECONDS)).isEqualTo("fire");
	}

	@Test
	void mistakesAreExplained(@Autowired ApplicationContext context) {
		assertThatExceptionOfType(UnknownNameException.class).isThrownBy(() -> this.clients.connect("ecko"))
			.withMessageContaining("ecko");
		assertThatIllegalStateException().isThrownBy(() -> this.clients.udp("echo"))
			.withMessageContaining("is not a UDP server");
		assertThatExceptionOfType(BeanCreationException.class)
			.isThrownBy(() -> context.getAutowireCapableBeanFactory().createBean(PortOfNobody.class))
			.havingRootCause()
			.isInstanceOf(IllegalStateException.class)
			.withMessageContaining("The server 'nobody' has no port");
	}

	@Nested
	class InnerTests {

		@Test
		void shareTheContext(@LocalLfServerPort("echo") int port) {
			assertThat(port).isEqualTo(WholeApplicationTests.this.portOfConstructor);
		}

	}

	static class PortOfNobody {

		@LocalLfServerPort("nobody")
		private int port;

		@Override
		public String toString() {
			return "port " + this.port;
		}

	}

}
