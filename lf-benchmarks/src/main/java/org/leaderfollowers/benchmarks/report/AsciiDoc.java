package org.leaderfollowers.benchmarks.report;

import java.util.List;

/** Writes a page. */
final class AsciiDoc {

	private final StringBuilder text = new StringBuilder();

	AsciiDoc heading(int level, String anchor, String title) {
		blankLine();
		this.text.append("[#").append(anchor).append("]\n");
		this.text.append("=".repeat(level)).append(' ').append(title).append('\n');
		return this;
	}

	/** Each sentence on a line of its own, as in the other pages. */
	AsciiDoc paragraph(String... sentences) {
		blankLine();
		for (String sentence : sentences) {
			this.text.append(sentence).append('\n');
		}
		return this;
	}

	AsciiDoc bullets(List<String> items) {
		blankLine();
		items.forEach((item) -> this.text.append("* ").append(item).append('\n'));
		return this;
	}

	AsciiDoc warning(String... sentences) {
		blankLine();
		this.text.append("[WARNING]\n====\n");
		for (String sentence : sentences) {
			this.text.append(sentence).append('\n');
		}
		this.text.append("====\n");
		return this;
	}

	AsciiDoc shell(List<String> commands) {
		blankLine();
		this.text.append("[source,shell]\n----\n");
		commands.forEach((command) -> this.text.append(command).append('\n'));
		this.text.append("----\n");
		return this;
	}

	AsciiDoc image(String path, String description) {
		blankLine();
		// The description may have commas in it
		this.text.append("image::").append(path).append("[\"").append(description).append("\"]\n");
		return this;
	}

	/**
	 * Add a table.
	 * @param columns the widths and alignments of the columns
	 * @param head the head
	 * @param rows the rows; a cell may begin with a specification of its own, as in
	 * {@code .2+|text}
	 * @return this
	 */
	AsciiDoc table(String columns, List<String> head, List<List<String>> rows) {
		blankLine();
		this.text.append("[cols=\"").append(columns).append("\",options=\"header\"]\n|===\n");
		this.text.append('|').append(String.join(" |", head)).append('\n');
		for (List<String> row : rows) {
			this.text.append('\n');
			row.forEach((cell) -> this.text.append(cell.contains("|") ? "" : "|").append(cell).append('\n'));
		}
		this.text.append("|===\n");
		return this;
	}

	private void blankLine() {
		if (!this.text.isEmpty()) {
			this.text.append('\n');
		}
	}

	@Override
	public String toString() {
		return this.text.toString();
	}

}
