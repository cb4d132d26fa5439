package org.leaderfollowers.sample.web;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.sample.Tiers;

import org.springframework.context.annotation.Profile;
import org.springframework.core.io.Resource;
import org.springframework.core.io.support.PathMatchingResourcePatternResolver;
import org.springframework.core.io.support.ResourcePatternResolver;
import org.springframework.stereotype.Component;
import org.springframework.util.StringUtils;

/**
 * The files below a root directory, in their state at the start of the server. A path is
 * only looked up among these files, so it cannot lead anywhere else. Symbolic links below
 * the root are followed.
 */
@Component
@Profile(Tiers.FRONT_END)
class StaticFiles {

	private static final String INDEX = "index.html";

	private static final Map<String, String> CONTENT_TYPES = Map.ofEntries(
			Map.entry("html", "text/html; charset=utf-8"), Map.entry("css", "text/css; charset=utf-8"),
			Map.entry("js", "text/javascript; charset=utf-8"), Map.entry("txt", "text/plain; charset=utf-8"),
			Map.entry("json", "application/json"), Map.entry("pdf", "application/pdf"),
			Map.entry("svg", "image/svg+xml"), Map.entry("png", "image/png"), Map.entry("jpg", "image/jpeg"),
			Map.entry("gif", "image/gif"), Map.entry("ico", "image/x-icon"), Map.entry("webp", "image/webp"),
			Map.entry("woff2", "font/woff2"));

	private final Map<String, StaticFile> files = new HashMap<>();

	/**
	 * Finds the files.
	 * @param properties contains the root directory
	 * @throws IOException if the root cannot be read
	 */
	StaticFiles(WebProperties properties) throws IOException {
		ResourcePatternResolver resolver = new PathMatchingResourcePatternResolver();
		String root = properties.root().endsWith("/") ? properties.root() : properties.root() + "/";
		Resource directory = resolver.getResource(root);
		if (!directory.exists()) {
			throw new FileNotFoundException(
					"There is no directory %s: set 'sample.web.root' to one, for example file:/var/www/"
						.formatted(root));
		}
		String prefix = directory.getURL().toString();
		for (Resource resource : resolver.getResources(root + "**")) {
			if (resource.isReadable() && StringUtils.hasText(resource.getFilename())) {
				String name = resource.getURL().toString().substring(prefix.length());
				add("/" + StringUtils.uriDecode(name, StandardCharsets.UTF_8), resource,
						properties.cacheLimit().toBytes());
			}
		}
		if (this.files.isEmpty()) {
			// A file system that cannot be searched, for example because of a loop of
			// symbolic links, is only logged.
			throw new FileNotFoundException(
					"There are no files below %s, or they cannot be read: the log tells if the search has failed"
						.formatted(root));
		}
	}

	private void add(String path, Resource resource, long cacheLimit) throws IOException {
		String extension = StringUtils.getFilenameExtension(path);
		StaticFile file = new StaticFile(resource,
				CONTENT_TYPES.getOrDefault((extension != null) ? extension : "", "application/octet-stream"),
				cacheLimit);
		this.files.put(path, file);
		if (path.endsWith("/" + INDEX)) {
			this.files.put(path.substring(0, path.length() - INDEX.length()), file);
		}
	}

	@Nullable StaticFile find(String path) {
		return this.files.get(path);
	}

}
