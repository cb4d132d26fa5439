package org.leaderfollowers.spring.server;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when no object has the requested name.
 *
 * @serial exclude
 */
@SuppressWarnings("serial")
public class UnknownNameException extends RuntimeException {

	private final Kind kind;

	private final String name;

	private final List<String> knownNames;

	private final @Nullable String reference;

	/**
	 * Creates a new exception.
	 * @param kind the kind of the requested object
	 * @param name the requested name
	 * @param knownNames the existing names
	 * @param reference where the name is used: the property, or for a server, event
	 * source or client the bean or interface that is annotated with it; {@code null} if
	 * code has requested it
	 */
	public UnknownNameException(Kind kind, String name, Collection<String> knownNames, @Nullable String reference) {
		super("There is no %s named '%s'. Known %ss: %s".formatted(kind, name, kind, String.join(", ", knownNames)));
		this.kind = kind;
		this.name = name;
		this.knownNames = List.copyOf(knownNames);
		this.reference = reference;
	}

	/**
	 * Returns the kind of the requested object.
	 * @return the kind
	 */
	public Kind getKind() {
		return this.kind;
	}

	/**
	 * Returns the requested name.
	 * @return the name
	 */
	public String getName() {
		return this.name;
	}

	/**
	 * Returns the existing names.
	 * @return the names, possibly none
	 */
	public List<String> getKnownNames() {
		return this.knownNames;
	}

	/**
	 * Returns where the unknown name is used.
	 * @return the property, or for a server, event source or client the bean or interface
	 * that is annotated with the name; {@code null} if code has requested it
	 */
	public @Nullable String getReference() {
		return this.reference;
	}

	/**
	 * Returns the known name that was probably meant.
	 * @return the most similar name, or {@code null} if none is similar
	 */
	public @Nullable String getSimilarName() {
		int tolerance = (this.name.length() < 4) ? 1 : 2;
		return this.knownNames.stream()
			.filter((known) -> distance(known) <= tolerance)
			.min(Comparator.comparingInt(this::distance))
			.orElse(null);
	}

	/**
	 * Counts the characters to insert, remove or replace (Levenshtein).
	 */
	private int distance(String known) {
		String from = this.name.toLowerCase(Locale.ROOT);
		String to = known.toLowerCase(Locale.ROOT);
		int[] previous = new int[to.length() + 1];
		for (int j = 0; j <= to.length(); j++) {
			previous[j] = j;
		}
		for (int i = 1; i <= from.length(); i++) {
			int[] row = new int[to.length() + 1];
			row[0] = i;
			for (int j = 1; j <= to.length(); j++) {
				int replaced = previous[j - 1] + ((from.charAt(i - 1) != to.charAt(j - 1)) ? 1 : 0);
				row[j] = Math.min(replaced, 1 + Math.min(previous[j], row[j - 1]));
			}
			previous = row;
		}
		return previous[to.length()];
	}

	/** The kinds of objects that have names. */
	public enum Kind {

		/** A {@link org.leaderfollowers.TcpClient}. */
		CLIENT("client"),

		/** A bean of type {@link org.leaderfollowers.Correlation}. */
		CORRELATION("correlation bean"),

		/** A bean of type {@link org.leaderfollowers.EventSource}. */
		EVENT_SOURCE("event source"),

		/** A bean of type {@link org.leaderfollowers.Framing}. */
		FRAMING("framing bean"),

		/** A bean of type {@link org.leaderfollowers.MessageOrder}. */
		MESSAGE_ORDER("message order bean"),

		/** A {@link org.leaderfollowers.LeaderFollowersPool}. */
		POOL("pool"),

		/** A {@link org.leaderfollowers.Server}. */
		SERVER("server"),

		/** An {@link org.springframework.boot.ssl.SslBundle}. */
		SSL_BUNDLE("SSL bundle");

		private final String noun;

		Kind(String noun) {
			this.noun = noun;
		}

		@Override
		public String toString() {
			return this.noun;
		}

	}

}
