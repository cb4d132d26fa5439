package org.leaderfollowers.benchmarks.simulation;

import java.io.IOException;
import java.lang.invoke.VarHandle;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

import org.leaderfollowers.internal.demultiplexing.HandleState;
import org.leaderfollowers.internal.demultiplexing.ReadyQueue;
import org.leaderfollowers.internal.promotion.Leadership;

/**
 * Measures what the steps of the engine cost on this machine, with the engine's own
 * classes and with sockets of the loopback interface. A few seconds are measured in many
 * short periods, and the fastest quarter counts: whatever else the machine does can only
 * make a step slower.
 */
public final class SerialCosts {

	private static final int CONNECTIONS = 64;

	private static final int[] BATCHES = { 1, 2, 4, 8, 16, 32, 64 };

	private static final int PAYLOAD = 64;

	private static final int HANDLES = 1 << 14;

	/** As the engine does it: PromotionProtocol.SPINS. */
	private static final int SPINS = 100;

	/**
	 * So that the other thread has taken a handle meanwhile, some hundred nanoseconds.
	 */
	private static final int WORK = 300;

	private static final int TURNS = 20_000;

	private static final long ASLEEP_NANOS = TimeUnit.MICROSECONDS.toNanos(60);

	private static final long STOP = Long.MIN_VALUE;

	private final int rounds;

	private final Map<Cost, Double> nanos = new EnumMap<>(Cost.class);

	private volatile long sink;

	private SerialCosts(int rounds) {
		this.rounds = rounds;
	}

	/**
	 * Prints what the steps cost on this machine.
	 * @param args none
	 * @throws IOException if there are no sockets
	 */
	public static void main(String[] args) throws IOException {
		System.out.print(measure(300));
	}

	/**
	 * Measures what the steps cost on this machine. All but {@link Cost#REST} and
	 * {@link Cost#GENERATOR}, which only whole servers have.
	 * @param rounds how often each step is measured
	 * @return the costs
	 * @throws IOException if there are no sockets
	 */
	public static Costs measure(int rounds) throws IOException {
		SerialCosts costs = new SerialCosts(rounds);
		costs.measureSockets();
		costs.measureQueue();
		costs.measureLeadership();
		costs.measureTransfer();
		costs.measureWaking();
		return new Costs(costs.nanos);
	}

	private void put(Cost cost, double[] samples) {
		this.nanos.put(cost, fast(samples));
	}

	/**
	 * The fastest quarter begins here; not of the first samples, which may not be
	 * compiled.
	 */
	private static double fast(double[] samples) {
		double[] sorted = Arrays.copyOfRange(samples, samples.length / 5, samples.length);
		Arrays.sort(sorted);
		return sorted[sorted.length / 4];
	}

	private static double middle(double[] samples) {
		double[] sorted = samples.clone();
		Arrays.sort(sorted);
		return sorted[sorted.length / 2];
	}

	private void measureSockets() throws IOException {
		try (ServerSocketChannel listening = ServerSocketChannel.open(); Selector selector = Selector.open()) {
			listening.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
			List<SocketChannel> channels = new ArrayList<>();
			try {
				for (int i = 0; i < CONNECTIONS; i++) {
					SocketChannel client = SocketChannel.open(listening.getLocalAddress());
					channels.add(client);
					SocketChannel accepted = listening.accept();
					channels.add(accepted);
					client.setOption(StandardSocketOptions.TCP_NODELAY, true);
					accepted.configureBlocking(false);
					accepted.register(selector, SelectionKey.OP_READ, accepted);
				}
				measureSelecting(selector, channels);
			}
			finally {
				for (SocketChannel channel : channels) {
					channel.close();
				}
			}
		}
	}

	private void measureSelecting(Selector selector, List<SocketChannel> channels) throws IOException {
		ByteBuffer buffer = ByteBuffer.allocateDirect(PAYLOAD);
		SocketChannel[] ready = new SocketChannel[CONNECTIONS];
		int[] count = new int[1];
		Consumer<SelectionKey> consumer = (key) -> ready[count[0]++] = (SocketChannel) key.attachment();
		double[][] selects = new double[BATCHES.length][this.rounds];
		double[] reads = new double[this.rounds];
		double[] writes = new double[this.rounds];
		for (int round = 0; round < 2 * this.rounds; round++) {
			for (int i = 0; i < BATCHES.length; i++) {
				int batch = BATCHES[i];
				long start = System.nanoTime();
				for (int j = 0; j < batch; j++) {
					buffer.clear();
					channels.get(2 * j).write(buffer);
				}
				long written = System.nanoTime();
				count[0] = 0;
				selector.selectNow(consumer);
				long selected = System.nanoTime();
				for (int j = 0; j < count[0]; j++) {
					buffer.clear();
					ready[j].read(buffer);
				}
				long read = System.nanoTime();
				if (count[0] != batch) {
					throw new IOException("Of " + batch + " connections " + count[0] + " were ready");
				}
				if (round >= this.rounds) {
					selects[i][round - this.rounds] = selected - written;
					writes[round - this.rounds] = (written - start) / (double) batch;
					reads[round - this.rounds] = (read - selected) / (double) batch;
				}
			}
		}
		double[] times = new double[BATCHES.length];
		Arrays.setAll(times, (i) -> fast(selects[i]));
		double[] line = fit(BATCHES, times);
		this.nanos.put(Cost.SELECT, line[0]);
		this.nanos.put(Cost.SELECT_HANDLE, line[1]);
		put(Cost.READ, reads);
		put(Cost.WRITE, writes);
	}

	/**
	 * Fits a line to points by least squares.
	 * @return where it begins, and its slope
	 */
	static double[] fit(int[] x, double[] y) {
		double meanX = Arrays.stream(x).average().orElseThrow();
		double meanY = Arrays.stream(y).average().orElseThrow();
		double above = 0;
		double below = 0;
		for (int i = 0; i < x.length; i++) {
			above += (x[i] - meanX) * (y[i] - meanY);
			below += (x[i] - meanX) * (x[i] - meanX);
		}
		double slope = above / below;
		return new double[] { Math.max(0, meanY - slope * meanX), slope };
	}

	private void measureQueue() {
		ReadyQueue<HandleState> queue = new ReadyQueue<>();
		HandleState[] handles = new HandleState[HANDLES];
		Arrays.setAll(handles, (i) -> new HandleState() {
		});
		double[] adds = new double[this.rounds];
		double[] takes = new double[this.rounds];
		double[] contended = new double[this.rounds];
		for (HandleState handle : handles) {
			arm(handle);
		}
		double[] works = new double[this.rounds];
		for (int round = 0; round < this.rounds; round++) {
			adds[round] = fill(queue, handles);
			takes[round] = drainAlone(queue, 0);
			release(handles);
			fill(queue, handles);
			works[round] = drainAlone(queue, WORK);
			release(handles);
			fill(queue, handles);
			contended[round] = drainTogether(queue);
			release(handles);
			queue.clear();
		}
		put(Cost.ADD, adds);
		put(Cost.TAKE, takes);
		this.nanos.put(Cost.TAKE_CONTENDED, Math.max(fast(takes), fast(contended) - fast(works) + fast(takes)));
	}

	/** A new handle belongs to the thread that created it. */
	private static void arm(HandleState handle) {
		if (handle.release() == HandleState.Release.REARM_NEEDED) {
			handle.arm();
		}
	}

	private static double fill(ReadyQueue<HandleState> queue, HandleState[] handles) {
		long start = System.nanoTime();
		for (HandleState handle : handles) {
			queue.reserve();
			if (handle.claimFired() == HandleState.Claim.CLAIMED) {
				queue.add(handle);
			}
		}
		return (System.nanoTime() - start) / (double) handles.length;
	}

	/** Takes all handles, each with a little work of its own. */
	private void drain(ReadyQueue<HandleState> queue, int work) {
		long x = 1;
		while (queue.take() != null) {
			for (int i = 0; i < work; i++) {
				x = x * 31 + i;
			}
			// Or the processor fetches the queue while it works. In a server there is a
			// system call in between.
			VarHandle.fullFence();
		}
		this.sink = x;
	}

	private double drainAlone(ReadyQueue<HandleState> queue, int work) {
		long start = System.nanoTime();
		drain(queue, work);
		return (System.nanoTime() - start) / (double) HANDLES;
	}

	/** Returns what two threads need for each handle that one of them takes. */
	private double drainTogether(ReadyQueue<HandleState> queue) {
		AtomicLong begin = new AtomicLong();
		AtomicLong othersEnd = new AtomicLong();
		Thread other = start("consumer", () -> {
			begin.incrementAndGet();
			while (begin.get() != 2) {
				Thread.onSpinWait();
			}
			drain(queue, WORK);
			othersEnd.set(System.nanoTime());
		});
		while (begin.get() != 1) {
			Thread.onSpinWait();
		}
		long start = System.nanoTime();
		begin.incrementAndGet();
		drain(queue, WORK);
		long end = System.nanoTime();
		join(other);
		return 2 * (Math.max(end, othersEnd.get()) - start) / (double) HANDLES;
	}

	private static void release(HandleState[] handles) {
		for (HandleState handle : handles) {
			handle.release();
		}
	}

	/** Two threads take the leadership from each other. */
	private void measureLeadership() {
		double[] samples = new double[this.rounds / 10];
		for (int round = 0; round < samples.length; round++) {
			Leadership leadership = new Leadership();
			leadership.take(1);
			leadership.lease(1, 1);
			long start = System.nanoTime();
			Thread other = start("new leader", () -> takeOverInTurn(leadership, 2, 1));
			takeOverInTurn(leadership, 1, 2);
			join(other);
			samples[round] = (System.nanoTime() - start) / (2.0 * TURNS);
		}
		put(Cost.TAKE_OVER, samples);
	}

	private static void takeOverInTurn(Leadership leadership, int me, int other) {
		for (int i = 0; i < TURNS;) {
			long lease = leadership.leaseWord();
			if (lease != Leadership.NOT_LEASED && Leadership.holderOf(lease) == other
					&& leadership.takeOver(lease, me)) {
				leadership.lease(me, i++);
			}
		}
	}

	private void measureTransfer() {
		double[] samples = new double[this.rounds / 10];
		for (int round = 0; round < samples.length; round++) {
			AtomicLong word = new AtomicLong();
			long start = System.nanoTime();
			Thread other = start("opponent", () -> play(word, 1));
			play(word, 0);
			join(other);
			samples[round] = (System.nanoTime() - start) / (2.0 * TURNS);
		}
		put(Cost.TRANSFER, samples);
	}

	private static void play(AtomicLong word, int me) {
		for (long turn = me; turn < 2L * TURNS; turn += 2) {
			while (word.get() != turn) {
				// Without a pause, which may take longer than what is measured.
			}
			word.set(turn + 1);
		}
	}

	/** A thread is woken that has waited for a while, on a processor that is idle. */
	private void measureWaking() {
		double[] wakes = new double[this.rounds];
		double[] latencies = new double[this.rounds];
		double[] spins = new double[this.rounds];
		AtomicLong signal = new AtomicLong();
		AtomicLong arrived = new AtomicLong();
		CountDownLatch ready = new CountDownLatch(1);
		Thread follower = start("follower", () -> follow(signal, arrived, ready));
		awaitUninterruptibly(ready);
		for (int round = 0; round < this.rounds; round++) {
			long asleep = System.nanoTime() + ASLEEP_NANOS;
			while (System.nanoTime() < asleep) {
				Thread.onSpinWait();
			}
			arrived.set(0);
			long start = System.nanoTime();
			signal.set(start);
			LockSupport.unpark(follower);
			wakes[round] = System.nanoTime() - start;
			while (arrived.get() == 0) {
				Thread.onSpinWait();
			}
			latencies[round] = arrived.get() - start;
			start = System.nanoTime();
			for (int i = 0; i < SPINS && signal.get() != STOP && arrived.get() != STOP; i++) {
				Thread.onSpinWait();
			}
			spins[round] = System.nanoTime() - start;
		}
		signal.set(STOP);
		LockSupport.unpark(follower);
		join(follower);
		// Of these the middle: it depends on how deeply the processor sleeps.
		this.nanos.put(Cost.WAKE, middle(wakes));
		this.nanos.put(Cost.WAKE_LATENCY, middle(latencies));
		put(Cost.SPIN, spins);
	}

	private static void follow(AtomicLong signal, AtomicLong arrived, CountDownLatch ready) {
		ready.countDown();
		long seen = 0;
		while (seen != STOP) {
			while (signal.get() == seen) {
				LockSupport.park();
			}
			seen = signal.get();
			arrived.set(System.nanoTime());
		}
	}

	private static Thread start(String name, Runnable task) {
		Thread thread = new Thread(task, name);
		thread.setDaemon(true);
		thread.start();
		return thread;
	}

	private static void join(Thread thread) {
		try {
			thread.join();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private static void awaitUninterruptibly(CountDownLatch latch) {
		try {
			latch.await();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

}
