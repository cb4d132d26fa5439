package org.leaderfollowers.spring.server;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

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

	/**
	 * Says what was asked for, which names there are, and what to do.
	 */
	static class Analyzer extends AbstractFailureAnalyzer<UnknownNameException> {

		@Override
		protected FailureAnalysis analyze(Throwable rootFailure, UnknownNameException cause) {
			String similar = cause.getSimilarName();
			return new FailureAnalysis(
					"%s, but there is no such %s. %s".formatted(request(cause), noun(cause), known(cause)),
					((similar != null) ? "Did you mean '%s'? ".formatted(similar) : "") + remedy(cause), cause);
		}

		private static String request(UnknownNameException cause) {
			String reference = cause.reference;
			if (reference == null) {
				return "The application asks for the %s '%s'".formatted(noun(cause), cause.name);
			}
			return switch (cause.kind) {
				case SERVER -> (reference.startsWith("advice ") ? "The %s, is annotated with @LfAdvice(\"%s\")"
						: "The bean %s, is annotated with @LfHandler(server = \"%s\")")
					.formatted(reference, cause.name);
				case EVENT_SOURCE -> (reference.startsWith("lf.") ? "The property '%s' is for the event source '%s'"
						: "The bean %s, is annotated with @LfHandler(source = \"%s\")")
					.formatted(reference, cause.name);
				case CLIENT -> (reference.startsWith("interface ") ? "The %s is annotated with @LfClient(\"%s\")"
						: "The bean %s, is annotated with @LfHandler(client = \"%s\")")
					.formatted(reference, cause.name);
				case CORRELATION, FRAMING, MESSAGE_ORDER, POOL, SSL_BUNDLE ->
					"The property '%s' names the %s '%s'".formatted(reference, noun(cause), cause.name);
			};
		}

		private static String noun(UnknownNameException cause) {
			return cause.kind.toString();
		}

		private static String known(UnknownNameException cause) {
			List<String> known = cause.knownNames;
			return known.isEmpty() ? "There are no %ss.".formatted(noun(cause))
					: "Known %ss: %s.".formatted(noun(cause), String.join(", ", known));
		}

		private static String remedy(UnknownNameException cause) {
			String name = cause.name;
			return switch (cause.kind) {
				case CLIENT ->
					"To have a client '%s', set the properties 'lf.clients.%s.addresses' and 'lf.clients.%s.correlation.type', or define a TcpClient bean that has this name."
						.formatted(name, name, name);
				case CORRELATION ->
					"Define a bean of type org.leaderfollowers.Correlation that has this name, or remove the property and choose one of the built-in correlations by '%s'."
						.formatted(typeProperty(cause.reference));
				case EVENT_SOURCE ->
					"To have an event source '%s', define a bean of type org.leaderfollowers.EventSource that has this name."
						.formatted(name);
				case FRAMING ->
					"Define a bean of type org.leaderfollowers.Framing that has this name, or remove the property and choose one of the built-in framings by '%s'."
						.formatted(typeProperty(cause.reference));
				case MESSAGE_ORDER ->
					"Define a bean of type org.leaderfollowers.MessageOrder that has this name, or remove the property.";
				case POOL ->
					"To have a pool '%s', set a property such as 'lf.pools.%s.threads.max', or define a LeaderFollowersPool bean that has this name."
						.formatted(name, name);
				case SERVER -> "To have a server '%s', set the property 'lf.servers.%s.port'.".formatted(name, name);
				case SSL_BUNDLE ->
					"To have an SSL bundle '%s', set 'spring.ssl.bundle.pem.%s.keystore.certificate' and 'spring.ssl.bundle.pem.%s.keystore.private-key', or the properties of 'spring.ssl.bundle.jks.%s'."
						.formatted(name, name, name, name);
			};
		}

		/** The property beside the one that names the bean. */
		private static String typeProperty(@Nullable String beanProperty) {
			return (beanProperty != null) ? beanProperty.substring(0, beanProperty.lastIndexOf('.') + 1) + "type"
					: "lf.server.framing.type";
		}

	}

}
