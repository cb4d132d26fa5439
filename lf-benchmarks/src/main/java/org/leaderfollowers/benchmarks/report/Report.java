package org.leaderfollowers.benchmarks.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import org.leaderfollowers.benchmarks.load.Arguments;
import org.leaderfollowers.benchmarks.results.ResultFile;
import org.leaderfollowers.benchmarks.results.Run;

/**
 * Writes the page of the documentation from raw data.
 *
 * <pre>
 * java -cp lf-benchmarks.jar org.leaderfollowers.benchmarks.report.Report \
 *     --results=target/benchmarks/goals.csv,target/benchmarks/connections.csv \
 *     --docs=docs/src/docs/asciidoc
 * </pre>
 */
public final class Report {

	private Report() {
	}

	/**
	 * Write the page.
	 * @param args see the class
	 * @throws IOException if the data cannot be read or the page not be written
	 */
	public static void main(String[] args) throws IOException {
		Arguments arguments = new Arguments(List.of(args));
		List<Path> files = arguments.list("results", "").stream().map(Path::of).toList();
		Path docs = Path.of(arguments.text("docs", "docs/src/docs/asciidoc"));
		arguments.rejectUnread();
		write(ResultFile.read(files), docs);
	}

	/**
	 * Write the page and its images.
	 * @param run what was measured
	 * @param docs the directory of the documentation's sources
	 * @throws IOException if it cannot be written
	 */
	public static void write(Run run, Path docs) throws IOException {
		Page page = new Page(run);
		Files.createDirectories(docs);
		Files.writeString(docs.resolve("benchmarks.adoc"), page.text());
		for (Map.Entry<String, String> image : page.images().entrySet()) {
			Path path = docs.resolve(image.getKey());
			Files.createDirectories(path.getParent());
			Files.writeString(path, image.getValue());
		}
	}

}
