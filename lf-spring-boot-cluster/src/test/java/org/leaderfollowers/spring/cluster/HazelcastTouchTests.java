package org.leaderfollowers.spring.cluster;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

import com.hazelcast.map.EntryProcessor;
import com.hazelcast.map.ExtendedMapEntry;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyLong;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;

/**
 * Tests that the backup of an entry lives as long as the entry. The backup becomes the
 * entry if the member that owns it fails.
 */
class HazelcastTouchTests {

	private static final byte[] VALUE = { 1 };

	private final HazelcastTouch onOwner = new HazelcastTouch(Duration.ofSeconds(30));

	private static ExtendedMapEntry<String, byte[]> entry(byte @Nullable [] value) {
		ExtendedMapEntry<String, byte[]> entry = mock();
		given(entry.getValue()).willReturn(value);
		return entry;
	}

	@Test
	void aBackupLivesAsLongAsTheEntry() {
		ExtendedMapEntry<String, byte[]> entry = entry(VALUE);
		assertThat(this.onOwner.process(entry)).isEqualTo(VALUE);
		then(entry).should().setValue(VALUE, 31, TimeUnit.SECONDS);
		EntryProcessor<String, byte[], byte[]> onBackup = this.onOwner.getBackupProcessor();
		assertThat(onBackup).isNotNull();
		ExtendedMapEntry<String, byte[]> backup = entry(VALUE);
		onBackup.process(backup);
		then(backup).should().setValue(VALUE, 31, TimeUnit.SECONDS);
	}

	@Test
	void aBackupIsNotProlongedIfThereIsNoEntry() {
		ExtendedMapEntry<String, byte[]> entry = entry(null);
		assertThat(this.onOwner.process(entry)).isNull();
		then(entry).should(never()).setValue(any(), anyLong(), any());
		assertThat(this.onOwner.getBackupProcessor()).isNull();
	}

}
