package org.leaderfollowers.spring.handler;

import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

import javax.net.ssl.SSLSession;
import javax.security.auth.x500.X500Principal;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.internal.LoginFailures;

import org.springframework.security.authentication.InternalAuthenticationServiceException;
import org.springframework.security.authentication.AuthenticationManager;
import org.springframework.security.authentication.LockedException;
import org.springframework.security.authentication.UsernamePasswordAuthenticationToken;
import org.springframework.security.core.Authentication;
import org.springframework.security.core.userdetails.User;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
import static org.mockito.BDDMockito.willThrow;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;

/**
 * Tests for logins that {@link LfAuthentication} refuses.
 */
class LfAuthenticationTests {

	private final Connection connection = mock();

	private final ConcurrentMap<String, Object> attributes = new ConcurrentHashMap<>();

	private final LoginFailures failures = mock();

	private final AuthenticationManager manager = mock();

	@BeforeEach
	void prepare() {
		given(this.connection.attributes()).willReturn(this.attributes);
		this.attributes.put(LoginFailures.ATTRIBUTE, this.failures);
	}

	@Test
	void credentialsAreNotCheckedAfterTooManyFailures() {
		LfAuthentication authentication = new LfAuthentication(() -> this.manager, () -> null);
		Authentication request = UsernamePasswordAuthenticationToken.unauthenticated("ada", "wrong");
		assertThatIllegalStateException().isThrownBy(() -> authentication.login(this.connection, request))
			.withMessageContaining("has not decided about a UsernamePasswordAuthenticationToken");
		then(this.manager).should().authenticate(request);
		willThrow(new IllegalStateException("too many")).given(this.failures).check();
		assertThatIllegalStateException().isThrownBy(() -> authentication.login(this.connection, request))
			.withMessage("too many");
		then(this.manager).shouldHaveNoMoreInteractions();
		assertThat(authentication.get(this.connection)).isNull();
	}

	@Test
	void aCertificateOfALockedUserIsRefused() throws Exception {
		SSLSession session = mock();
		X509Certificate certificate = mock();
		given(this.connection.sslSession()).willReturn(session);
		X509Certificate authority = mock();
		given(authority.getSubjectX500Principal()).willReturn(new X500Principal("CN=authority"));
		given(session.getPeerCertificates()).willReturn(new Certificate[] { certificate, authority });
		given(certificate.getSubjectX500Principal()).willReturn(new X500Principal("CN=ada, CN=Users, O=Example"));
		User.UserBuilder user = User.withUsername("ada").password("").roles("USER");
		LfAuthentication authentication = new LfAuthentication(() -> this.manager,
				() -> (name) -> user.username(name).build());
		user.accountLocked(true);
		assertThatExceptionOfType(LockedException.class)
			.isThrownBy(() -> authentication.loginByCertificate(this.connection));
		then(this.failures).should().failed();
		then(this.connection).should(never()).loggedIn();
		assertThat(authentication.get(this.connection)).isNull();
		user.accountLocked(false);
		authentication.loginByCertificate(this.connection);
		then(this.connection).should().loggedIn();
		assertThat(authentication.get(this.connection)).extracting(Authentication::getName).isEqualTo("ada");
		this.connection.attributes().clear();
		LfAuthentication unknown = new LfAuthentication(() -> this.manager, () -> (name) -> null);
		assertThatExceptionOfType(InternalAuthenticationServiceException.class)
			.isThrownBy(() -> unknown.loginByCertificate(this.connection));
		assertThat(unknown.get(this.connection)).isNull();
	}

}
