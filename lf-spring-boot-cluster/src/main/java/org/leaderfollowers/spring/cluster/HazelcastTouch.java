package org.leaderfollowers.spring.cluster;

import java.io.IOException;
import java.time.Duration;
import java.util.Map.Entry;
import java.util.concurrent.TimeUnit;

import com.hazelcast.map.EntryProcessor;
import com.hazelcast.map.ExtendedMapEntry;
import com.hazelcast.nio.ObjectDataInput;
import com.hazelcast.nio.ObjectDataOutput;
import com.hazelcast.nio.serialization.DataSerializable;
import org.jspecify.annotations.Nullable;

/**
 * Reads the value of an entry and extends its lifetime. Runs on the member that owns the
 * entry. Its name and its form are part of what nodes of different versions exchange.
 */
final class HazelcastTouch implements EntryProcessor<String, byte[], byte[]>, DataSerializable {

	private static final long serialVersionUID = 1L;

	private long seconds;

	/** Whether the owner had a value. Otherwise a backup must not prolong an old one. */
	private transient boolean found;

	/** For Hazelcast. */
	HazelcastTouch() {
	}

	HazelcastTouch(Duration timeToLive) {
		this.seconds = HazelcastCompareAndSet.seconds(timeToLive);
	}

	@Override
	public byte @Nullable [] process(Entry<String, byte[]> entry) {
		byte[] value = entry.getValue();
		this.found = value != null;
		if (this.found) {
			((ExtendedMapEntry<String, byte[]>) entry).setValue(value, this.seconds, TimeUnit.SECONDS);
		}
		return value;
	}

	@Override
	public @Nullable EntryProcessor<String, byte[], byte[]> getBackupProcessor() {
		return this.found ? this : null;
	}

	@Override
	public void writeData(ObjectDataOutput out) throws IOException {
		out.writeLong(this.seconds);
	}

	@Override
	public void readData(ObjectDataInput in) throws IOException {
		this.seconds = in.readLong();
	}

}
