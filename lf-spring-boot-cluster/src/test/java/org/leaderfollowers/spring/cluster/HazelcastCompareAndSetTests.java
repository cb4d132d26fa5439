package org.leaderfollowers.spring.cluster;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

import com.hazelcast.map.EntryProcessor;
import com.hazelcast.map.ExtendedMapEntry;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyLong;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;

/**
 * Tests that a backup does what the owner of an entry has done. The backup becomes the
 * entry if the member that owns it fails.
 */
class HazelcastCompareAndSetTests {

	private static final byte[] BEFORE = { 1 };

	private static final byte[] AFTER = { 2 };

	private final HazelcastCompareAndSet onOwner = new HazelcastCompareAndSet(BEFORE, AFTER, Duration.ofSeconds(30));

	private static ExtendedMapEntry<String, byte[]> entry(byte[] value) {
		ExtendedMapEntry<String, byte[]> entry = mock();
		given(entry.getValue()).willReturn(value);
		return entry;
	}

	@Test
	void aBackupIsReplacedAndEndsWhenTheEntryDoes() {
		ExtendedMapEntry<String, byte[]> entry = entry(BEFORE);
		assertThat(this.onOwner.process(entry)).isTrue();
		then(entry).should().setValue(AFTER, 31, TimeUnit.SECONDS);
		EntryProcessor<String, byte[], Boolean> onBackup = this.onOwner.getBackupProcessor();
		assertThat(onBackup).isNotNull();
		// The clocks of members differ: an entry that has expired may still be there.
		ExtendedMapEntry<String, byte[]> backup = entry(new byte[] { 3 });
		assertThat(onBackup.process(backup)).isTrue();
		then(backup).should().setValue(AFTER, 31, TimeUnit.SECONDS);
	}

	@Test
	void aBackupIsLeftAloneIfTheEntryIs() {
		ExtendedMapEntry<String, byte[]> entry = entry(AFTER);
		assertThat(this.onOwner.process(entry)).isFalse();
		then(entry).should(never()).setValue(any(), anyLong(), any());
		assertThat(this.onOwner.getBackupProcessor()).isNull();
	}

}
