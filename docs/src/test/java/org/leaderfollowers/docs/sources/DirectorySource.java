package org.leaderfollowers.docs.sources;

import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.EventSource;

// tag::source[]
class DirectorySource implements EventSource<WatchKey> {

	private final WatchService watcher;

	DirectorySource(WatchService watcher) {
		this.watcher = watcher;
	}

	@Override
	public @Nullable WatchKey await(Duration timeout) throws InterruptedException {
		return this.watcher.poll(Math.min(timeout.toMillis(), 50), TimeUnit.MILLISECONDS);
	}

	@Override
	public void wakeup() {
		// Only an event wakes a watch service, so await must be short.
	}

}
// end::source[]
