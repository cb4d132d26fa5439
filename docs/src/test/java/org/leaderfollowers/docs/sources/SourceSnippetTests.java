package org.leaderfollowers.docs.sources;

import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchEvent;
import java.nio.file.WatchService;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.leaderfollowers.EventSource;
import org.leaderfollowers.LeaderFollowersPool;

import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

import static org.assertj.core.api.Assertions.assertThat;

/** The examples of the chapter about event sources behave as the chapter says. */
class SourceSnippetTests {

	@Test
	void remindersAreSentWhenTheyAreDue() {
		new ApplicationContextRunner().withUserConfiguration(Application.class)
			.withPropertyValues("lf.sources.reminders.concurrency=1")
			.run((context) -> {
				@SuppressWarnings("unchecked")
				DelayQueue<Reminder> queue = context.getBean(DelayQueue.class);
				// Long enough to add both before the first one is due.
				Instant due = Instant.now().plusSeconds(2);
				queue.add(new Reminder("later", due.plusMillis(100)));
				queue.add(new Reminder("first", due));
				BlockingQueue<String> mails = context.getBean(Mails.class).sent();
				assertThat(mails.poll(60, TimeUnit.SECONDS)).isEqualTo("first: Your invoice is due");
				assertThat(Instant.now()).isAfterOrEqualTo(due);
				assertThat(mails.poll(60, TimeUnit.SECONDS)).isEqualTo("later: Your invoice is due");
			});
	}

	@Test
	void withoutSpring() throws Exception {
		CompletableFuture<String> reminded = new CompletableFuture<>();
		DelayQueue<Reminder> queue = new DelayQueue<>();
		// tag::engine[]
		LeaderFollowersPool pool = LeaderFollowersPool.builder().threads(4, 64).eventSources("reminders").build();
		pool.register("reminders", EventSource.of(queue), (reminder) -> reminded.complete(reminder.account()));
		// end::engine[]
		try (pool) {
			queue.add(new Reminder("someone", Instant.now()));
			assertThat(reminded.get(60, TimeUnit.SECONDS)).isEqualTo("someone");
			assertThat(pool.deregister("reminders", Duration.ofSeconds(60))).isTrue();
		}
	}

	@Test
	void filesThatAreCreated(@TempDir Path directory) throws Exception {
		BlockingQueue<String> created = new LinkedBlockingQueue<>();
		try (WatchService watcher = FileSystems.getDefault().newWatchService();
				LeaderFollowersPool pool = LeaderFollowersPool.builder().eventSources("files").build()) {
			directory.register(watcher, StandardWatchEventKinds.ENTRY_CREATE);
			pool.register("files", new DirectorySource(watcher), 1, (key) -> {
				for (WatchEvent<?> event : key.pollEvents()) {
					created.add(String.valueOf(event.context()));
				}
				key.reset();
			});
			create(directory.resolve("a"));
			assertThat(created.poll(60, TimeUnit.SECONDS)).isEqualTo("a");
			create(directory.resolve("b"));
			assertThat(created.poll(60, TimeUnit.SECONDS)).isEqualTo("b");
			assertThat(pool.snapshot().eventSources().get(0).sourceFailures()).isZero();
		}
	}

	private static void create(Path file) throws IOException {
		Files.writeString(file, "");
	}

	/**
	 * Keeps the mails instead of sending them.
	 *
	 * @param sent the mails
	 */
	record Mails(BlockingQueue<String> sent) implements Mailbox {

		@Override
		public void send(String account, String text) {
			this.sent.add(account + ": " + text);
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	@Import({ ReminderConfiguration.class, ReminderHandler.class })
	static class Application {

		@Bean
		Mails mailbox() {
			return new Mails(new LinkedBlockingQueue<>());
		}

	}

}
