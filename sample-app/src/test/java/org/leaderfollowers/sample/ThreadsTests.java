package org.leaderfollowers.sample;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.FutureTask;
import java.util.stream.Collectors;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.spring.test.client.TcpTestClient;

import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that the sample leaves no thread behind when it ends.
 */
@Timeout(120)
class ThreadsTests {

	/**
	 * A thread belongs to the group of the thread that started it, so threads of other
	 * contexts in this process do not count.
	 */
	private final ThreadGroup group = new ThreadGroup("sample");

	@Test
	void leavesNoThreadBehind() throws Exception {
		FutureTask<Void> life = new FutureTask<>(this::startUseAndClose, null);
		Thread main = new Thread(this.group, life, "sample-main");
		main.start();
		life.get();
		main.join();
		Awaitility.await()
			.pollInSameThread()
			.atMost(Duration.ofSeconds(30))
			.untilAsserted(() -> assertThat(threads()).isEmpty());
	}

	private void startUseAndClose() {
		try (ConfigurableApplicationContext context = SpringApplication.run(SampleApplication.class,
				"--lf.server.port=0", "--server.port=0")) {
			int port = context.getEnvironment().getRequiredProperty("local.lf.server.port", Integer.class);
			try (TcpTestClient client = Oltp.connect(port)) {
				assertThat(client.exchange(Oltp.request(1, 1, 1, 0))).contains("COMMITTED");
			}
			assertThat(threads()).anyMatch((thread) -> thread.getName().startsWith("lf-"))
				.anyMatch((thread) -> thread.getName().startsWith("http-nio-"));
		}
	}

	private Set<Thread> threads() {
		return Thread.getAllStackTraces()
			.keySet()
			.stream()
			// Test clients share a thread, which outlives them for a while.
			.filter((thread) -> !thread.getName().equals("lf-test-client-watchdog"))
			.filter((thread) -> thread.getThreadGroup() != null && this.group.parentOf(thread.getThreadGroup()))
			.collect(Collectors.toSet());
	}

}
