package org.leaderfollowers.benchmarks.jmh;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

import org.leaderfollowers.Framing;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * How long it takes to find a message in the received bytes, as the engine does it: in a
 * buffer off the heap, with the connection's frame, which is reused.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class FramingBenchmark {

	private static final int PIPELINED = 16;

	private static final int MAX_MESSAGE = 64 * 1024;

	private static final byte[] DELIMITER = { '\r', '\n', '.', '\r', '\n' };

	/**
	 * Only connections begin frames. As constants of the class they are compiled to plain
	 * calls.
	 */
	private static final MethodHandle BEGIN;

	private static final MethodHandle FRAME_LENGTH;

	private static final MethodHandle NEW_FRAME;

	static {
		try {
			MethodHandles.Lookup lookup = MethodHandles.privateLookupIn(Framing.Frame.class, MethodHandles.lookup());
			NEW_FRAME = lookup.findConstructor(Framing.Frame.class, MethodType.methodType(void.class));
			BEGIN = lookup.findVirtual(Framing.Frame.class, "begin",
					MethodType.methodType(void.class, int.class, int.class));
			FRAME_LENGTH = lookup.findVirtual(Framing.Frame.class, "frameLength", MethodType.methodType(int.class));
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
	}

	/** The framing. */
	@Param
	Kind framing = Kind.LINE;

	/** The length of the payload. */
	@Param({ "64", "4096" })
	int payload;

	private Framing decoder = Framing.line();

	private Framing.Frame frame = newFrame();

	private ByteBuffer one = ByteBuffer.allocate(0);

	private ByteBuffer many = ByteBuffer.allocate(0);

	@Setup
	public void fillBuffers() {
		this.decoder = this.framing.create();
		this.frame = newFrame();
		this.one = messages(1);
		this.many = messages(PIPELINED);
	}

	private ByteBuffer messages(int count) {
		byte[] bytes = new byte[this.payload];
		Arrays.fill(bytes, (byte) 'x');
		ByteBuffer buffer = ByteBuffer.allocateDirect(count * this.decoder.maxFrameLength(this.payload));
		for (int i = 0; i < count; i++) {
			this.decoder.encode(ByteBuffer.wrap(bytes), buffer);
		}
		return buffer.flip();
	}

	/**
	 * A client that waits for each reply.
	 * @return the end of the message
	 * @throws Throwable never
	 */
	@Benchmark
	public int single() throws Throwable {
		return decode(this.one);
	}

	/**
	 * One of sixteen messages that arrived together.
	 * @return the end of the last one
	 * @throws Throwable never
	 */
	@Benchmark
	@OperationsPerInvocation(PIPELINED)
	public int pipelined() throws Throwable {
		return decode(this.many);
	}

	private int decode(ByteBuffer input) throws Throwable {
		input.position(0);
		while (input.hasRemaining()) {
			BEGIN.invokeExact(this.frame, MAX_MESSAGE, 0);
			if (!this.decoder.decode(input, this.frame)) {
				throw new IllegalStateException("The buffer holds whole messages only");
			}
			input.position(input.position() + (int) FRAME_LENGTH.invokeExact(this.frame));
		}
		return input.position();
	}

	private static Framing.Frame newFrame() {
		try {
			return (Framing.Frame) NEW_FRAME.invokeExact();
		}
		catch (Throwable ex) {
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * The framings that users choose.
	 */
	public enum Kind {

		/** Looks for one byte. */
		LINE {

			@Override
			Framing create() {
				return Framing.line();
			}

		},

		/** Looks for several bytes. */
		DELIMITER {

			@Override
			Framing create() {
				return Framing.delimiter(FramingBenchmark.DELIMITER);
			}

		},

		/** Need not look at the payload. */
		LENGTH_FIELD {

			@Override
			Framing create() {
				return Framing.lengthField(4);
			}

		};

		abstract Framing create();

	}

}
