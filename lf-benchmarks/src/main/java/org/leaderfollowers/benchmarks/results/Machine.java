package org.leaderfollowers.benchmarks.results;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

import com.sun.management.OperatingSystemMXBean;

/**
 * The machine that a figure was measured on, without which it means little.
 */
public final class Machine {

	private static final double GIGABYTE = 1L << 30;

	private Machine() {
	}

	/**
	 * What there is to know about this machine.
	 * @return facts by name
	 */
	public static Map<String, String> facts() {
		Map<String, String> facts = new LinkedHashMap<>();
		facts.put("processor", processor(Path.of("/proc/cpuinfo")));
		facts.put("processors", Integer.toString(Runtime.getRuntime().availableProcessors()));
		facts.put("memory", String.format(Locale.ROOT, "%.0f GB",
				ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getTotalMemorySize() / GIGABYTE));
		facts.put("system", System.getProperty("os.name") + " " + System.getProperty("os.version") + ", "
				+ System.getProperty("os.arch"));
		facts.put("JDK", System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version") + " ("
				+ System.getProperty("java.vendor") + ")");
		return facts;
	}

	static String processor(Path cpuinfo) {
		try (Stream<String> lines = Files.lines(cpuinfo)) {
			return lines.filter((line) -> line.startsWith("model name"))
				.map((line) -> line.substring(line.indexOf(':') + 1).trim())
				.findFirst()
				.orElse("unknown");
		}
		catch (IOException ex) {
			return "unknown";
		}
	}

}
