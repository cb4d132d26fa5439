package org.leaderfollowers.process;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.Engine;
import org.leaderfollowers.process.ServerProcess.Baseline;

/**
 * Like {@link OutOfMemoryProcessTests}, but a thread of the application uses up the heap
 * again and again, while other messages are handled.
 */
@Timeout(300)
@EnabledOnOs(OS.LINUX)
class HeapStormTests {

	@Tag("stress")
	@ParameterizedTest
	@ValueSource(strings = { "SerialGC", "G1GC" })
	void messagesComeWhileAnotherThreadUsesUpTheHeap(String collector) throws Exception {
		try (ServerProcess server = OutOfMemoryProcessTests.start(collector)) {
			Baseline before = server.baseline();
			server.ask("storm");
			OutOfMemoryProcessTests.converseUntil(System.nanoTime() + OutOfMemoryProcessTests.STORM.toNanos(), server,
					"other");
			OutOfMemoryProcessTests.assertRecovered(server, before);
		}
	}

	/** Nothing has been used before: classes are initialised now. */
	@Tag("stress")
	@ParameterizedTest
	@ValueSource(strings = { "SerialGC", "G1GC" })
	void theFirstClientsComeWhileAnotherThreadUsesUpTheHeap(String collector) throws Exception {
		try (ServerProcess server = OutOfMemoryProcessTests.start(collector)) {
			server.ask("storm");
			OutOfMemoryProcessTests.converseUntil(System.nanoTime() + OutOfMemoryProcessTests.STORM.toNanos(), server,
					"other");
			// It ends when it cannot get one byte more, not at a certain time.
			Engine.eventually().until(() -> (boolean) server.ask("calm"));
			OutOfMemoryProcessTests.assertRecovered(server, server.baseline());
		}
	}

}
