package org.leaderfollowers.benchmarks.exchange;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

import com.sun.management.OperatingSystemMXBean;
import org.HdrHistogram.Histogram;

import org.leaderfollowers.benchmarks.load.Arguments;

/**
 * One client in a process of its own, whose processor time is that of the client. Prints
 * exchanges per second, microseconds of processor time for each, and their median and
 * 99th percentile in microseconds.
 */
final class ExchangeProcess {

	private static final long SLOWEST_NANOS = TimeUnit.MINUTES.toNanos(1);

	private final Client client;

	private final byte[] text;

	private volatile int phase;

	private final AtomicReference<Throwable> failure = new AtomicReference<>();

	private ExchangeProcess(Client client, int bytes) {
		this.client = client;
		this.text = new byte[bytes];
		Arrays.fill(this.text, (byte) 'x');
	}

	public static void main(String[] args) throws Exception {
		Arguments arguments = new Arguments(List.of(args));
		String kind = arguments.text("client", "lf");
		int port = arguments.number("port", 6379);
		int threads = arguments.number("threads", 64);
		int bytes = arguments.number("bytes", 64);
		double warmUp = arguments.decimal("warmup", 5);
		double seconds = arguments.decimal("seconds", 2);
		int periods = arguments.number("periods", 1);
		arguments.rejectUnread();
		try (Client client = Client.KINDS.get(kind).connect(port)) {
			new ExchangeProcess(client, bytes).run(threads, warmUp, seconds, periods);
		}
		System.exit(0);
	}

	private void run(int count, double warmUp, double seconds, int periods) throws Exception {
		List<Histogram[]> histograms = new ArrayList<>();
		List<Thread> threads = new ArrayList<>();
		for (int i = 0; i < count; i++) {
			Histogram[] own = new Histogram[periods + 1];
			Arrays.setAll(own, (index) -> new Histogram(SLOWEST_NANOS, 3));
			histograms.add(own);
			Thread thread = new Thread(() -> call(own), "caller-" + i);
			threads.add(thread);
			thread.start();
		}
		LockSupport.parkNanos((long) (warmUp * 1e9));
		OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
		for (int period = 1; period <= periods; period++) {
			long cpu = system.getProcessCpuTime();
			long began = System.nanoTime();
			this.phase = period;
			LockSupport.parkNanos((long) (seconds * 1e9));
			this.phase = (period == periods) ? -1 : 0;
			double elapsed = (System.nanoTime() - began) / 1e9;
			double used = (system.getProcessCpuTime() - cpu) / 1e3;
			if (period == periods) {
				for (Thread thread : threads) {
					thread.join();
				}
			}
			print(histograms, period, elapsed, used);
		}
		Throwable failed = this.failure.get();
		if (failed != null) {
			throw new IllegalStateException("An exchange failed", failed);
		}
	}

	private static void print(List<Histogram[]> histograms, int period, double elapsed, double usedMicros) {
		Histogram all = new Histogram(SLOWEST_NANOS, 3);
		histograms.forEach((own) -> all.add(own[period]));
		System.out.printf(Locale.ROOT, "%.0f %.3f %.1f %.1f%n", all.getTotalCount() / elapsed,
				usedMicros / all.getTotalCount(), all.getValueAtPercentile(50) / 1e3,
				all.getValueAtPercentile(99) / 1e3);
	}

	private void call(Histogram[] histograms) {
		try {
			for (int current = this.phase; current >= 0; current = this.phase) {
				long began = System.nanoTime();
				byte[] reply = this.client.echo(this.text);
				if (!Arrays.equals(reply, this.text)) {
					throw new IllegalStateException("The reply is another one");
				}
				histograms[current].recordValue(Math.min(SLOWEST_NANOS, System.nanoTime() - began));
			}
		}
		catch (Throwable ex) {
			this.failure.compareAndSet(null, ex);
			this.phase = -1;
		}
	}

}
