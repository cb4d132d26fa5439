package org.leaderfollowers;

import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.List;
import java.util.Locale;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.linkage.Linkage;
import org.leaderfollowers.internal.logging.EngineLog;
import org.slf4j.event.Level;
import org.slf4j.helpers.MessageFormatter;

/**
 * The classes of the engine that are used for the first time while messages are handled,
 * such as those that close a connection. They are initialised with the first pool: if
 * there was no memory or stack left at that moment, the virtual machine would never try
 * again, and no connection could be closed or served any more. If no descriptor was left,
 * a class in a directory could not be read: the snapshots, which then tell the operator
 * what is wrong, are among them for this reason.
 */
final class EngineClasses {

	/**
	 * Names, because the tables for {@code switch} statements are classes that only the
	 * compiler knows.
	 */
	static final List<String> NAMES = List.of("BoundWait", "ClientLifecycle$1", "ClientSnapshot",
			"ClientSnapshot$Address", "ClientSnapshot$Outcome", "ClientSnapshot$State", "CloseRate", "CloseRate$1",
			"CloseReason", "CloseSequence", "CloseSequence$Phase", "CloseSequence$Why", "ConnectionClosedException",
			"ConnectionContext$Limits", "ConnectionSnapshot", "ConnectionSnapshot$State", "ConnectionWatch", "Datagram",
			"DatagramReceiver", "DatagramTransfer", "DrainedInput", "Evacuation", "Evacuation$Phase", "EventType",
			"ExchangeCounters$1", "Exchanges", "Exchanges$1", "HandOff", "HandOffJournal$Entry", "HandleSet$1",
			"HandshakeGate", "HeapReserve", "LatencySnapshot", "LatencySnapshot$Bucket", "LedSource", "MessageDecoder",
			"MessageDecoder$Decoded", "OutboundWriter", "OutboundWriter$1", "Participant", "Participant$1", "Place",
			"PoolAlarm$1", "PoolAlarm$Kind", "PoolSnapshot", "PoolSnapshot$EventSourceSnapshot",
			"PoolSnapshot$HandleSetSnapshot", "PoolSnapshot$ReliefSnapshot", "PoolSnapshot$RunningHandler",
			"PoolSnapshot$SharingSnapshot", "PoolSnapshot$State", "PoolSnapshot$ThreadSnapshot",
			"PoolSnapshot$UnfoldingChange", "PoolSnapshot$UnfoldingSnapshot", "ReplyOrder", "ReplyRate",
			"SelectableHandle", "SelectableHandle$1", "ServerSnapshot", "ServerSnapshot$Datagrams",
			"ServerSnapshot$Evacuation", "ServerSnapshot$Exchanges", "ServerSnapshot$State", "ServerSnapshot$Tls",
			"ServerWarnings", "SlowConsumerException", "StackReserve", "Step", "StreamConnection", "StreamConnection$1",
			"TcpConnection", "TcpConnection$1", "ThreadRole", "TransportType", "WindowedConnection",
			"internal.buffer.MemoryBudget", "internal.buffer.MemoryShedding", "internal.buffer.OutboundBuffer",
			"internal.buffer.OutboundBuffer$Sent", "internal.buffer.OutboundBuffer$Waiting",
			"internal.buffer.PartialMessage", "internal.demultiplexing.HandleState$Claim",
			"internal.demultiplexing.HandleState$Release", "internal.demultiplexing.PrematureReturns",
			"internal.demultiplexing.ReadyQueue", "internal.exchange.Exchange", "internal.exchange.Exchange$State",
			"internal.exchange.ExchangeTable$Registration", "internal.latency.LatencyHistogram$Sum",
			"internal.lifecycle.Quiescence$Condition", "internal.lifecycle.RetryBackoff", "internal.logging.RateLimit",
			"internal.promotion.Followers$Signal", "internal.promotion.HandOffKind", "internal.promotion.HandOffRing",
			"internal.promotion.HandOffs", "internal.promotion.HandlerProfile", "internal.promotion.Leadership",
			"internal.promotion.LeaseWatch$Cover", "internal.promotion.Leases", "internal.promotion.Member$Role",
			"internal.promotion.Sharing$Latest", "internal.promotion.SystemProcessorTime",
			"internal.promotion.SystemProcessorTime$Management", "internal.promotion.ThreadSupply$Start",
			"internal.promotion.Vacancies", "internal.promotion.Vacancies$1", "internal.proxy.IpLiteral",
			"internal.proxy.ProxyHeader", "internal.proxy.ProxyHeaderDecoder", "internal.proxy.ProxyHeaderDecoder$1",
			"internal.proxy.ProxyHeaderDecoder$Step", "internal.transport.Linger", "internal.transport.TlsTransport",
			"internal.transport.TlsTransport$1", "internal.transport.Transport$Progress",
			"internal.window.MessageWindow$Place", "internal.window.MessageWindow$Turn");

	/** Set when it is done; two pools that are built at the same time may both do it. */
	private static volatile boolean initialized;

	private EngineClasses() {
	}

	private record Sample(long value) {
	}

	/**
	 * Initialises the classes, and those of the JDK and of the log that they need, when
	 * the first pool is built.
	 */
	static void initialize() {
		if (initialized) {
			return;
		}
		useLibraries();
		for (String name : NAMES) {
			try {
				Class.forName("org.leaderfollowers." + name, true, EngineClasses.class.getClassLoader());
			}
			catch (ClassNotFoundException ex) {
				EngineLog.INSTANCE.debug("The engine has no class {}", name);
			}
		}
		initialized = true;
	}

	/**
	 * Does what the first connection, the first collision and the first line would do.
	 */
	private static void useLibraries() {
		ThreadLocalRandom.current();
		ByteBuffer.allocateDirect(1);
		MessageFormatter.arrayFormat("%s {}".formatted(Level.WARN), new Object[] { "", new Throwable() });
		new Throwable().getStackTrace();
		// Records are compared when a server closes.
		new Sample(0).hashCode();
		// The digits of the locale, which snapshots need as well.
		String.format(Locale.ROOT, "%.1f", 1.0);
		useConcurrency();
		SelectorProvider provider = SelectorProvider.provider();
		try (SocketChannel channel = provider.openSocketChannel(); Selector selector = provider.openSelector()) {
			channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
			channel.configureBlocking(false);
			SelectionKey key = channel.register(selector, 0);
			key.interestOps(SelectionKey.OP_CONNECT).interestOps(0);
			key.cancel();
			selector.selectNow();
		}
		catch (IOException ex) {
			EngineLog.INSTANCE.debug("No socket could be opened to initialise its classes", ex);
		}
	}

	/**
	 * Links the accesses through variable handles in classes of the JDK; see
	 * {@link Linkage}.
	 */
	private static void useConcurrency() {
		AtomicBoolean flag = new AtomicBoolean();
		flag.compareAndSet(false, flag.getAndSet(false));
		AtomicReference<@Nullable Object> reference = new AtomicReference<>();
		reference.compareAndSet(reference.getOpaque(), reference.getAndSet(null));
		AtomicReferenceArray<@Nullable Object> references = new AtomicReferenceArray<>(1);
		references.set(0, references.get(0));
		references.setOpaque(0, references.getOpaque(0));
		references.setPlain(0, references.getPlain(0));
		references.compareAndSet(0, null, references.getAndSet(0, null));
		AtomicLongArray numbers = new AtomicLongArray(1);
		numbers.set(0, numbers.get(0));
		numbers.setOpaque(0, numbers.getOpaque(0));
		numbers.setRelease(0, numbers.getPlain(0));
		numbers.compareAndSet(0, 0, numbers.getAndIncrement(0));
		LongAdder sum = new LongAdder();
		sum.increment();
		sum.sum();
		CompletableFuture<Object> future = new CompletableFuture<>();
		CompletableFuture<Object> copy = future.copy();
		future.complete("");
		copy.join();
		Queue<Object> queue = new ConcurrentLinkedQueue<>(List.of(""));
		queue.add("");
		queue.poll();
		queue.poll();
	}

}
