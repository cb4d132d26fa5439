package org.leaderfollowers.spring.autoconfigure;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

import org.junit.jupiter.api.Test;
import org.mockito.ArgumentCaptor;

import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link BundleReload}.
 */
class BundleReloadTests {

	private final SslBundles bundles = mock();

	private final BundleReload reload = new BundleReload(this.bundles);

	private final List<String> updates = new ArrayList<>();

	private void follow(String subject, String bundle, SslBundle content, String update) {
		this.reload.follow(subject, bundle, content, (current) -> {
			this.updates.add(update);
			return "";
		});
	}

	@Test
	void anUpdateIsForThoseWhoUseTheBundleNow() {
		SslBundle first = mock();
		SslBundle second = mock();
		given(this.bundles.getBundle("first")).willReturn(first);
		given(this.bundles.getBundle("second")).willReturn(second);
		follow("Server 'a'", "first", first, "a");
		follow("Server 'b'", "second", second, "b");
		follow("Client 'c'", "first", first, "c");
		// A server that was started again.
		follow("Server 'a'", "first", first, "a again");
		ArgumentCaptor<Consumer<SslBundle>> handler = ArgumentCaptor.captor();
		then(this.bundles).should().addBundleUpdateHandler(eq("first"), handler.capture());
		assertThat(this.updates).isEmpty();
		handler.getValue().accept(mock());
		assertThat(this.updates).containsExactlyInAnyOrder("a again", "c");
		this.updates.clear();
		then(this.bundles).should().addBundleUpdateHandler(eq("second"), handler.capture());
		handler.getValue().accept(mock());
		assertThat(this.updates).containsExactly("b");
	}

	@Test
	void aBundleThatWasUpdatedMeanwhileIsUsedAtOnce() {
		SslBundle updated = mock();
		given(this.bundles.getBundle("first")).willReturn(updated);
		follow("Server 'a'", "first", mock(), "a");
		assertThat(this.updates).containsExactly("a");
	}

}
