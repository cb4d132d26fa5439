package org.leaderfollowers.spring.cluster;

import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map.Entry;
import java.util.concurrent.TimeUnit;

import com.hazelcast.map.EntryProcessor;
import com.hazelcast.map.ExtendedMapEntry;
import com.hazelcast.nio.ObjectDataInput;
import com.hazelcast.nio.ObjectDataOutput;
import com.hazelcast.nio.serialization.DataSerializable;
import org.jspecify.annotations.Nullable;

/**
 * Replaces the value of an entry if it is the expected one. Runs on the member that owns
 * the entry. Its name and its form are part of what nodes of different versions exchange.
 */
final class HazelcastCompareAndSet implements EntryProcessor<String, byte[], Boolean>, DataSerializable {

	private static final long serialVersionUID = 1L;

	private byte @Nullable [] expected;

	private byte @Nullable [] update;

	private long seconds;

	/**
	 * Whether not to compare. The clocks of members differ, so a backup may still have a
	 * value that has expired on the owner: it therefore does as the owner has done.
	 */
	private boolean backup;

	private transient boolean replaced;

	/** For Hazelcast. */
	HazelcastCompareAndSet() {
	}

	HazelcastCompareAndSet(byte @Nullable [] expected, byte @Nullable [] update, Duration timeToLive) {
		this.expected = expected;
		this.update = update;
		this.seconds = seconds(timeToLive);
	}

	/**
	 * Hazelcast counts in seconds and rounds the end of an entry down. One more, so that
	 * no entry ends early.
	 */
	static long seconds(Duration timeToLive) {
		return timeToLive.plusMillis(999).toSeconds() + 1;
	}

	@Override
	public Boolean process(Entry<String, byte[]> entry) {
		this.replaced = this.backup || Arrays.equals(entry.getValue(), this.expected);
		if (this.replaced) {
			set(entry, this.update, this.seconds);
		}
		return this.replaced;
	}

	/** Hazelcast removes an entry whose value is {@code null}. */
	@SuppressWarnings("NullAway")
	private static void set(Entry<String, byte[]> entry, byte @Nullable [] value, long seconds) {
		((ExtendedMapEntry<String, byte[]>) entry).setValue(value, seconds, TimeUnit.SECONDS);
	}

	@Override
	public @Nullable EntryProcessor<String, byte[], Boolean> getBackupProcessor() {
		if (!this.replaced) {
			return null;
		}
		HazelcastCompareAndSet processor = new HazelcastCompareAndSet();
		processor.update = this.update;
		processor.seconds = this.seconds;
		processor.backup = true;
		return processor;
	}

	@Override
	public void writeData(ObjectDataOutput out) throws IOException {
		out.writeByteArray(this.expected);
		out.writeByteArray(this.update);
		out.writeLong(this.seconds);
		out.writeBoolean(this.backup);
	}

	@Override
	public void readData(ObjectDataInput in) throws IOException {
		this.expected = in.readByteArray();
		this.update = in.readByteArray();
		this.seconds = in.readLong();
		this.backup = in.readBoolean();
	}

}
