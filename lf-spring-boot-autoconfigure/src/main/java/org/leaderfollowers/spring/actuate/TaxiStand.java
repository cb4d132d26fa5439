package org.leaderfollowers.spring.actuate;

import org.jspecify.annotations.Nullable;

import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.core.io.ClassPathResource;
import org.springframework.core.io.Resource;

/**
 * The live page that shows Leader/Followers at work, named after the paper's example from
 * everyday life. It is one file without parameters: what it shows, it fetches as JSON
 * from where it came from itself.
 */
final class TaxiStand {

	/** What the page is. */
	static final String MEDIA_TYPE = "text/html;charset=UTF-8";

	private static final Resource PAGE = new ClassPathResource("taxi-stand.html", TaxiStand.class);

	private TaxiStand() {
	}

	static Resource page() {
		return PAGE;
	}

	/**
	 * {@link RuntimeHintsRegistrar} that takes the page into a native image.
	 */
	static class Hints implements RuntimeHintsRegistrar {

		@Override
		public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
			hints.resources().registerResource(PAGE);
		}

	}

}
