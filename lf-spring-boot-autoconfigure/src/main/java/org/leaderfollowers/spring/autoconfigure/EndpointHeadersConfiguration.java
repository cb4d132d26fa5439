package org.leaderfollowers.spring.autoconfigure;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.stream.Collectors;

import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextConfiguration;
import org.springframework.boot.actuate.endpoint.EndpointId;
import org.springframework.boot.actuate.endpoint.web.PathMappedEndpoints;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.server.PathContainer.PathSegment;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.util.function.SingletonSupplier;
import org.springframework.web.filter.OncePerRequestFilter;
import org.springframework.web.server.WebFilter;

/**
 * {@link ManagementContextConfiguration @ManagementContextConfiguration} for headers that
 * protect the page and the data of the endpoints in a browser. Spring Security sets the
 * same ones, but not every application has it.
 */
@ManagementContextConfiguration(proxyBeanMethods = false)
@ConditionalOnBooleanProperty(name = "lf.enabled", matchIfMissing = true)
class EndpointHeadersConfiguration {

	private static final List<String> ENDPOINTS = List.of("leaderfollowers", "lfhandoffs", "lfconnections", "lfclients",
			"lfsessions");

	private static final Map<String, String> HEADERS = Map.of("Cache-Control", "no-store", "Referrer-Policy",
			"no-referrer", "X-Content-Type-Options", "nosniff", "X-Frame-Options", "DENY");

	/**
	 * The paths of the endpoints that are exposed, without that of the application. They
	 * are found with the first request: a filter is created too early to look for
	 * endpoints.
	 */
	private static Supplier<List<String>> paths(ObjectProvider<PathMappedEndpoints> endpoints) {
		return SingletonSupplier.of(() -> endpoints.stream()
			.flatMap((each) -> ENDPOINTS.stream().map(EndpointId::of).map(each::getPath))
			.filter(Objects::nonNull)
			.toList());
	}

	private static boolean isEndpoint(String path, Supplier<List<String>> paths) {
		return paths.get().stream().anyMatch((each) -> path.equals(each) || path.startsWith(each + "/"));
	}

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnWebApplication(type = Type.SERVLET)
	@ConditionalOnClass({ Filter.class, OncePerRequestFilter.class })
	static class OnServlet {

		@Bean
		Filter leaderFollowersEndpointHeaders(ObjectProvider<PathMappedEndpoints> endpoints) {
			Supplier<List<String>> paths = paths(endpoints);
			return new OncePerRequestFilter() {

				@Override
				protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response,
						FilterChain chain) throws ServletException, IOException {
					HEADERS.forEach(response::setHeader);
					chain.doFilter(request, response);
				}

				@Override
				protected boolean shouldNotFilter(HttpServletRequest request) {
					// Endpoints do not know the path of their servlet, if it has one.
					String info = request.getPathInfo();
					return !isEndpoint((info != null) ? info : request.getServletPath(), paths);
				}

			};
		}

	}

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnWebApplication(type = Type.REACTIVE)
	@ConditionalOnClass(WebFilter.class)
	static class OnReactive {

		@Bean
		WebFilter leaderFollowersEndpointHeaders(ObjectProvider<PathMappedEndpoints> endpoints) {
			Supplier<List<String>> paths = paths(endpoints);
			return (exchange, chain) -> {
				if (isEndpoint(path(exchange.getRequest()), paths)) {
					HEADERS.forEach(exchange.getResponse().getHeaders()::set);
				}
				return chain.filter(exchange);
			};
		}

		/** The path as handlers match it: decoded, and without parameters. */
		private static String path(ServerHttpRequest request) {
			return request.getPath()
				.pathWithinApplication()
				.elements()
				.stream()
				.map((part) -> (part instanceof PathSegment segment) ? segment.valueToMatch() : part.value())
				.collect(Collectors.joining());
		}

	}

}
