package org.leaderfollowers.spring.handler;

import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.List;
import java.util.function.Supplier;

import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.naming.ldap.Rdn;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.internal.LoginFailures;

import org.springframework.security.authentication.InternalAuthenticationServiceException;
import org.springframework.security.authentication.AccountStatusUserDetailsChecker;
import org.springframework.security.authentication.AuthenticationManager;
import org.springframework.security.authentication.UsernamePasswordAuthenticationToken;
import org.springframework.security.core.Authentication;
import org.springframework.security.core.AuthenticationException;
import org.springframework.security.core.GrantedAuthority;
import org.springframework.security.core.context.SecurityContextHolder;
import org.springframework.security.core.userdetails.UserDetails;
import org.springframework.security.core.userdetails.UserDetailsService;
import org.springframework.util.Assert;

/**
 * Logs the clients of connections in with Spring Security. It can be injected into any
 * bean, usually into the handler that has an
 * {@link org.leaderfollowers.spring.annotation.OnLogin @OnLogin} method:
 *
 * <pre>
 * &#064;OnLogin(prefix = "LOGIN ")
 * String login(String text, Connection connection) {
 *     String[] parts = text.split(" ", 2);
 *     Authentication user = this.authentication.login(connection,
 *             UsernamePasswordAuthenticationToken.unauthenticated(parts[0], parts[1]));
 *     return "Welcome, " + user.getName();
 * }
 * </pre>
 *
 * From then on, each call of a handler for the connection runs with this
 * {@link Authentication} in the {@link SecurityContextHolder}: {@code @PreAuthorize} and
 * the like decide by it. It is also the {@link java.security.Principal} of the
 * connection. Safe for many threads.
 */
public final class LfAuthentication {

	private final Supplier<AuthenticationManager> manager;

	private final Supplier<@Nullable UserDetailsService> users;

	/**
	 * Creates an object that logs in.
	 * @param manager supplies the manager that checks credentials; called for each login
	 * @param users supplies the service that knows the authorities of clients with a
	 * certificate, or {@code null} if there is none; called for each such client
	 */
	public LfAuthentication(Supplier<AuthenticationManager> manager, Supplier<@Nullable UserDetailsService> users) {
		Assert.notNull(manager, "'manager' must not be null");
		Assert.notNull(users, "'users' must not be null");
		this.manager = manager;
		this.users = users;
	}

	/**
	 * Logs the client of a connection in. An earlier login is replaced. The login timeout
	 * of the server ends.
	 * @param connection the connection
	 * @param request the credentials, which the authentication manager checks; or an
	 * authentication that has been checked already, which is not checked again
	 * @return the authentication of the client
	 * @throws AuthenticationException if the credentials are wrong; an earlier login then
	 * remains
	 * @throws org.leaderfollowers.ClientLimitException if too many logins of the client
	 * have failed; the credentials are not checked
	 */
	public Authentication login(Connection connection, Authentication request) {
		Assert.notNull(connection, "'connection' must not be null");
		Assert.notNull(request, "'request' must not be null");
		Authentication result = request.isAuthenticated() ? request : check(connection, request);
		if (result == null) {
			throw new IllegalStateException("The AuthenticationManager has not decided about a %s"
				.formatted(request.getClass().getSimpleName()));
		}
		connection.attributes().put(LfHeaders.PRINCIPAL, result);
		connection.loggedIn();
		return result;
	}

	private @Nullable Authentication check(Connection connection, Authentication request) {
		LoginFailures failures = LoginFailures.of(connection);
		failures.check();
		try {
			return this.manager.get().authenticate(request);
		}
		catch (AuthenticationException ex) {
			failures.failed();
			throw ex;
		}
	}

	/**
	 * Logs the client of a connection out. Its next message must be a login again. A
	 * client with a certificate need not log in again, but is anonymous for Spring
	 * Security.
	 * @param connection the connection
	 */
	public void logout(Connection connection) {
		connection.attributes().remove(LfHeaders.PRINCIPAL);
	}

	/**
	 * Returns the authentication of the client of a connection.
	 * @param connection the connection
	 * @return the authentication, or {@code null} if the client has not logged in
	 */
	public @Nullable Authentication get(Connection connection) {
		return (connection.attributes().get(LfHeaders.PRINCIPAL) instanceof Authentication authentication)
				? authentication : null;
	}

	/**
	 * Logs in a client that has a TLS certificate. The common name of the subject is the
	 * user name. If the application has a {@link UserDetailsService}, it must know the
	 * user, and supplies the authorities. Without such a service the user has no
	 * authorities. Does nothing if the client has no certificate.
	 * @param connection an open connection
	 * @throws AuthenticationException if the user is unknown, disabled or locked
	 */
	public void loginByCertificate(Connection connection) {
		X509Certificate certificate = certificate(connection.sslSession());
		if (certificate == null) {
			return;
		}
		String name = commonName(certificate);
		UserDetailsService service = this.users.get();
		UserDetails user;
		try {
			user = (service != null) ? load(service, name) : null;
			if (user != null) {
				new AccountStatusUserDetailsChecker().check(user);
			}
		}
		catch (AuthenticationException ex) {
			LoginFailures.of(connection).failed();
			throw ex;
		}
		Collection<? extends GrantedAuthority> authorities = (user != null) ? user.getAuthorities() : List.of();
		login(connection, UsernamePasswordAuthenticationToken.authenticated((user != null) ? user : name, certificate,
				authorities));
	}

	private static UserDetails load(UserDetailsService service, String name) {
		UserDetails user = service.loadUserByUsername(name);
		if (user == null) {
			throw new InternalAuthenticationServiceException(
					"The UserDetailsService has returned null for '%s', which violates its contract".formatted(name));
		}
		return user;
	}

	private static @Nullable X509Certificate certificate(@Nullable SSLSession session) {
		if (session == null) {
			return null;
		}
		try {
			Certificate[] chain = session.getPeerCertificates();
			return (chain.length > 0 && chain[0] instanceof X509Certificate first) ? first : null;
		}
		catch (SSLPeerUnverifiedException ex) {
			// The client has no certificate.
			return null;
		}
	}

	private static String commonName(X509Certificate certificate) {
		String subject = certificate.getSubjectX500Principal().getName();
		try {
			// The most specific name of an X.500 subject is the last in this list.
			List<Rdn> names = new LdapName(subject).getRdns();
			for (int i = names.size() - 1; i >= 0; i--) {
				if (names.get(i).getType().equalsIgnoreCase("CN")) {
					return names.get(i).getValue().toString();
				}
			}
			return subject;
		}
		catch (InvalidNameException ex) {
			return subject;
		}
	}

}
