package org.leaderfollowers.spring.server;

import java.util.List;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/**
 * {@link org.springframework.boot.diagnostics.FailureAnalyzer} for an
 * {@link UnknownNameException}.
 */
class UnknownNameFailureAnalyzer extends AbstractFailureAnalyzer<UnknownNameException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, UnknownNameException cause) {
		String similar = cause.getSimilarName();
		return new FailureAnalysis(
				"%s, but there is no such %s. %s".formatted(request(cause), noun(cause), known(cause)),
				((similar != null) ? "Did you mean '%s'? ".formatted(similar) : "") + remedy(cause), cause);
	}

	private static String request(UnknownNameException cause) {
		String reference = cause.getReference();
		if (reference == null) {
			return "The application asks for the %s '%s'".formatted(noun(cause), cause.getName());
		}
		return switch (cause.getKind()) {
			case SERVER -> (reference.startsWith("advice ") ? "The %s, is annotated with @LfAdvice(\"%s\")"
					: "The bean %s, is annotated with @LfHandler(server = \"%s\")")
				.formatted(reference, cause.getName());
			case EVENT_SOURCE -> (reference.startsWith("lf.") ? "The property '%s' is for the event source '%s'"
					: "The bean %s, is annotated with @LfHandler(source = \"%s\")")
				.formatted(reference, cause.getName());
			case CLIENT -> (reference.startsWith("interface ") ? "The %s is annotated with @LfClient(\"%s\")"
					: "The bean %s, is annotated with @LfHandler(client = \"%s\")")
				.formatted(reference, cause.getName());
			case CORRELATION, FRAMING, MESSAGE_ORDER, POOL, SSL_BUNDLE ->
				"The property '%s' names the %s '%s'".formatted(reference, noun(cause), cause.getName());
		};
	}

	private static String noun(UnknownNameException cause) {
		return cause.getKind().toString();
	}

	private static String known(UnknownNameException cause) {
		List<String> known = cause.getKnownNames();
		return known.isEmpty() ? "There are no %ss.".formatted(noun(cause))
				: "Known %ss: %s.".formatted(noun(cause), String.join(", ", known));
	}

	private static String remedy(UnknownNameException cause) {
		String name = cause.getName();
		return switch (cause.getKind()) {
			case CLIENT ->
				"To have a client '%s', set the properties 'lf.clients.%s.addresses' and 'lf.clients.%s.correlation.type', or define a TcpClient bean that has this name."
					.formatted(name, name, name);
			case CORRELATION ->
				"Define a bean of type org.leaderfollowers.Correlation that has this name, or remove the property and choose one of the built-in correlations by '%s'."
					.formatted(typeProperty(cause.getReference()));
			case EVENT_SOURCE ->
				"To have an event source '%s', define a bean of type org.leaderfollowers.EventSource that has this name."
					.formatted(name);
			case FRAMING ->
				"Define a bean of type org.leaderfollowers.Framing that has this name, or remove the property and choose one of the built-in framings by '%s'."
					.formatted(typeProperty(cause.getReference()));
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

	/** The property that can be used instead of the one that names the bean. */
	private static String typeProperty(@Nullable String beanProperty) {
		return (beanProperty != null) ? beanProperty.substring(0, beanProperty.lastIndexOf('.') + 1) + "type"
				: "lf.server.framing.type";
	}

}
