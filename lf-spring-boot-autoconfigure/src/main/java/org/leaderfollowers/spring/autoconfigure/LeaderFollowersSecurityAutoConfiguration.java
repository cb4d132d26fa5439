package org.leaderfollowers.spring.autoconfigure;

import java.util.ArrayList;
import java.util.List;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.handler.LfAuthentication;
import org.leaderfollowers.spring.interceptor.HandlerCallInterceptor;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.core.MethodParameter;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.Order;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.expression.spel.support.StandardEvaluationContext;
import org.springframework.messaging.Message;
import org.springframework.messaging.handler.invocation.HandlerMethodArgumentResolver;
import org.springframework.security.authentication.AnonymousAuthenticationToken;
import org.springframework.security.authentication.AuthenticationEventPublisher;
import org.springframework.security.authentication.AuthenticationManager;
import org.springframework.security.authentication.AuthenticationProvider;
import org.springframework.security.authentication.ProviderManager;
import org.springframework.security.authentication.dao.DaoAuthenticationProvider;
import org.springframework.security.authentication.password.CompromisedPasswordChecker;
import org.springframework.security.core.Authentication;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.core.authority.AuthorityUtils;
import org.springframework.security.core.context.SecurityContext;
import org.springframework.security.core.context.SecurityContextHolder;
import org.springframework.security.core.userdetails.UserDetailsPasswordService;
import org.springframework.security.core.userdetails.UserDetailsService;
import org.springframework.security.crypto.password.PasswordEncoder;
import org.springframework.util.function.SingletonSupplier;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for Spring Security: handlers run as
 * the client of their connection.
 */
@AutoConfiguration(after = LeaderFollowersAutoConfiguration.class)
@ConditionalOnClass({ TcpServer.class, SecurityContextHolder.class })
@ConditionalOnBooleanProperty(name = "lf.enabled", matchIfMissing = true)
public final class LeaderFollowersSecurityAutoConfiguration {

	/**
	 * Its beans are found with the first login. Of several beans of one type, one must be
	 * primary: who checks credentials must not be left to chance.
	 */
	@Bean
	@ConditionalOnMissingBean
	LfAuthentication leaderFollowersAuthentication(BeanFactory beanFactory) {
		return new LfAuthentication(SingletonSupplier.of(() -> manager(beanFactory)),
				beanFactory.getBeanProvider(UserDetailsService.class)::getIfAvailable);
	}

	private static AuthenticationManager manager(BeanFactory beanFactory) {
		AuthenticationManager manager = beanFactory.getBeanProvider(AuthenticationManager.class).getIfAvailable();
		if (manager != null) {
			return manager;
		}
		List<AuthenticationProvider> checks = new ArrayList<>(
				beanFactory.getBeanProvider(AuthenticationProvider.class).orderedStream().toList());
		if (checks.isEmpty()) {
			checks.add(byUserDetails(beanFactory));
		}
		ProviderManager ofProviders = new ProviderManager(checks);
		beanFactory.getBeanProvider(AuthenticationEventPublisher.class)
			.ifUnique(ofProviders::setAuthenticationEventPublisher);
		return ofProviders;
	}

	/** As Spring Security configures it for web applications. */
	private static AuthenticationProvider byUserDetails(BeanFactory beanFactory) {
		UserDetailsService users = beanFactory.getBeanProvider(UserDetailsService.class).getIfAvailable();
		if (users == null) {
			throw new IllegalStateException("Nothing can check the credentials of a login: define one bean of type "
					+ "AuthenticationManager, one or more of type AuthenticationProvider, or one UserDetailsService");
		}
		DaoAuthenticationProvider provider = new DaoAuthenticationProvider(users);
		beanFactory.getBeanProvider(PasswordEncoder.class).ifUnique(provider::setPasswordEncoder);
		beanFactory.getBeanProvider(UserDetailsPasswordService.class).ifUnique(provider::setUserDetailsPasswordService);
		beanFactory.getBeanProvider(CompromisedPasswordChecker.class).ifUnique(provider::setCompromisedPasswordChecker);
		return provider;
	}

	@Bean
	@ConditionalOnMissingBean(name = "leaderFollowersSecurityInterceptor")
	HandlerCallInterceptor leaderFollowersSecurityInterceptor(LfAuthentication authentication) {
		return new SecurityInterceptor(authentication);
	}

	@Bean
	@ConditionalOnMissingBean(name = "leaderFollowersAuthenticationPrincipalResolver")
	HandlerMethodArgumentResolver leaderFollowersAuthenticationPrincipalResolver() {
		return new PrincipalResolver();
	}

	/**
	 * Binds the authentication of the connection to the thread during each call. Outside
	 * of the interceptors of the application, which may ask for it.
	 *
	 * @param authentication knows who the client is
	 */
	@Order(Ordered.HIGHEST_PRECEDENCE + 2000)
	private record SecurityInterceptor(LfAuthentication authentication) implements HandlerCallInterceptor {

		/** As a web application has it for requests without a login. */
		private static final Authentication ANONYMOUS = new AnonymousAuthenticationToken("leaderfollowers",
				"anonymousUser", AuthorityUtils.createAuthorityList("ROLE_ANONYMOUS"));

		@Override
		public void onOpen(Connection connection, MessageHandler next) throws Exception {
			this.authentication.loginByCertificate(connection);
			HandlerCallInterceptor.super.onOpen(connection, next);
		}

		@Override
		public void aroundCall(Connection connection, HandlerCall call) throws Exception {
			Authentication client = this.authentication.get(connection);
			SecurityContext previous = SecurityContextHolder.getContext();
			SecurityContext context = SecurityContextHolder.createEmptyContext();
			context.setAuthentication((client != null) ? client : ANONYMOUS);
			SecurityContextHolder.setContext(context);
			try {
				call.proceed();
			}
			finally {
				// A call may be made within another one of the same thread.
				if (previous.getAuthentication() != null) {
					SecurityContextHolder.setContext(previous);
				}
				else {
					SecurityContextHolder.clearContext();
				}
			}
		}

	}

	/**
	 * Supplies {@link AuthenticationPrincipal @AuthenticationPrincipal} parameters, of
	 * which the library for web applications is not needed.
	 */
	private static final class PrincipalResolver implements HandlerMethodArgumentResolver {

		private final SpelExpressionParser parser = new SpelExpressionParser();

		@Override
		public boolean supportsParameter(MethodParameter parameter) {
			return annotation(parameter) != null;
		}

		private static @Nullable AuthenticationPrincipal annotation(MethodParameter parameter) {
			return AnnotatedElementUtils.findMergedAnnotation(
					AnnotatedElementUtils.forAnnotations(parameter.getParameterAnnotations()),
					AuthenticationPrincipal.class);
		}

		@Override
		public @Nullable Object resolveArgument(MethodParameter parameter, Message<?> message) {
			AuthenticationPrincipal annotation = annotation(parameter);
			Authentication client = SecurityContextHolder.getContext().getAuthentication();
			Object principal = (client != null) ? client.getPrincipal() : null;
			if (principal != null && annotation != null && !annotation.expression().isEmpty()) {
				principal = this.parser.parseExpression(annotation.expression())
					.getValue(new StandardEvaluationContext(principal));
			}
			if (principal != null && !parameter.getParameterType().isInstance(principal)) {
				if (annotation != null && annotation.errorOnInvalidType()) {
					throw new ClassCastException("%s is not assignable to %s".formatted(principal.getClass().getName(),
							parameter.getParameterType().getName()));
				}
				return null;
			}
			return principal;
		}

	}

}
