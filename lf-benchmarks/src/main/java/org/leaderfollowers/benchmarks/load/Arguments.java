package org.leaderfollowers.benchmarks.load;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Arguments of the form {@code --name=value}. Each argument is read once. An argument
 * that was never read is a mistake of the user and is rejected: a benchmark that ignores
 * {@code --conections=1000} does not measure what it claims to measure.
 */
public final class Arguments {

	private final Map<String, String> values = new LinkedHashMap<>();

	private final Set<String> unread = new TreeSet<>();

	public Arguments(List<String> arguments) {
		for (String argument : arguments) {
			int equals = argument.indexOf('=');
			if (!argument.startsWith("--") || equals < 0) {
				throw new IllegalArgumentException("'" + argument + "' is not of the form --name=value");
			}
			this.values.put(argument.substring(2, equals), argument.substring(equals + 1));
		}
		this.unread.addAll(this.values.keySet());
	}

	/**
	 * Whether at least one of some arguments is given.
	 * @param names their names
	 * @return whether one is
	 */
	public boolean hasAny(String... names) {
		return Stream.of(names).anyMatch(this.values::containsKey);
	}

	public String text(String name, String defaultValue) {
		this.unread.remove(name);
		return this.values.getOrDefault(name, defaultValue);
	}

	public Optional<String> optional(String name) {
		this.unread.remove(name);
		return Optional.ofNullable(this.values.get(name));
	}

	public int number(String name, int defaultValue) {
		return number(name, text(name, Integer.toString(defaultValue)));
	}

	public List<Integer> numbers(String name, int defaultValue) {
		return list(name, Integer.toString(defaultValue)).stream().map((value) -> number(name, value)).toList();
	}

	private static int number(String name, String value) {
		try {
			return Integer.parseInt(value.replace("_", ""));
		}
		catch (NumberFormatException ex) {
			throw new IllegalArgumentException("--" + name + "=" + value + " is not a whole number", ex);
		}
	}

	public double decimal(String name, double defaultValue) {
		String value = text(name, Double.toString(defaultValue));
		try {
			return Double.parseDouble(value);
		}
		catch (NumberFormatException ex) {
			throw new IllegalArgumentException("--" + name + "=" + value + " is not a number", ex);
		}
	}

	public List<String> list(String name, String defaultValue) {
		String value = text(name, defaultValue);
		return value.isEmpty() ? List.of() : List.of(value.split(","));
	}

	/** Called when all known arguments have been read. */
	public void rejectUnread() {
		if (!this.unread.isEmpty()) {
			throw new IllegalArgumentException("Unknown: --" + String.join(", --", this.unread));
		}
	}

}
