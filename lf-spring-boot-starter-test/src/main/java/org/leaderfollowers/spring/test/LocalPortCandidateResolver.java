package org.leaderfollowers.spring.test;

import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.config.DependencyDescriptor;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.context.annotation.ContextAnnotationAutowireCandidateResolver;
import org.springframework.core.MethodParameter;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.env.Environment;
import org.springframework.util.Assert;

/**
 * Resolves the value of {@link LocalLfServerPort @LocalLfServerPort} for any server.
 * {@code @Value}, which marks the injection points, can name the property of one server
 * only.
 */
class LocalPortCandidateResolver extends ContextAnnotationAutowireCandidateResolver {

	/** Replaces the usual resolver. A custom resolver is not replaced. */
	static void register(ConfigurableListableBeanFactory beanFactory) {
		if (beanFactory instanceof DefaultListableBeanFactory factory && factory.getAutowireCandidateResolver()
			.getClass() == ContextAnnotationAutowireCandidateResolver.class) {
			factory.setAutowireCandidateResolver(new LocalPortCandidateResolver());
		}
	}

	@Override
	public @Nullable Object getSuggestedValue(DependencyDescriptor descriptor) {
		LocalLfServerPort annotation = find(descriptor);
		return (annotation != null) ? port(annotation.server()) : super.getSuggestedValue(descriptor);
	}

	private static @Nullable LocalLfServerPort find(DependencyDescriptor descriptor) {
		LocalLfServerPort annotation = AnnotatedElementUtils.getMergedAnnotation(
				AnnotatedElementUtils.forAnnotations(descriptor.getAnnotations()), LocalLfServerPort.class);
		MethodParameter parameter = descriptor.getMethodParameter();
		if (annotation == null && parameter != null) {
			annotation = AnnotatedElementUtils.getMergedAnnotation(
					AnnotatedElementUtils.forAnnotations(parameter.getMethodAnnotations()), LocalLfServerPort.class);
		}
		return annotation;
	}

	private int port(String server) {
		BeanFactory beanFactory = getBeanFactory();
		Assert.state(beanFactory != null, "'beanFactory' must not be null");
		Integer port = beanFactory.getBean(Environment.class)
			.getProperty("local.lf.servers.%s.port".formatted(server), Integer.class);
		Assert.state(port != null,
				() -> "The server '%s' has no port that could be injected: there is no such server, ".formatted(server)
						+ "it has not been started yet, or the test runs in memory");
		return port;
	}

}
