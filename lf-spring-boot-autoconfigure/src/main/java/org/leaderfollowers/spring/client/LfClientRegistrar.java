package org.leaderfollowers.spring.client;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

import org.leaderfollowers.spring.annotation.LfClient;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.annotation.AnnotatedBeanDefinition;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfigurationPackages;
import org.springframework.boot.context.TypeExcludeFilter;
import org.springframework.context.annotation.ClassPathScanningCandidateComponentProvider;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.env.Environment;
import org.springframework.core.io.ResourceLoader;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.core.type.filter.AnnotationTypeFilter;
import org.springframework.util.Assert;
import org.springframework.util.ClassUtils;

/**
 * Registers a bean for each interface that {@link ImportLfClients @ImportLfClients}
 * names, or that is in one of its packages. The name of the bean is that of the
 * interface.
 */
class LfClientRegistrar implements ImportBeanDefinitionRegistrar {

	private final BeanFactory beanFactory;

	private final Environment environment;

	private final ResourceLoader resourceLoader;

	LfClientRegistrar(BeanFactory beanFactory, Environment environment, ResourceLoader resourceLoader) {
		this.beanFactory = beanFactory;
		this.environment = environment;
		this.resourceLoader = resourceLoader;
	}

	@Override
	public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
		MergedAnnotation<ImportLfClients> annotation = importing.getAnnotations().get(ImportLfClients.class);
		Set<Class<?>> types = new LinkedHashSet<>(List.of(annotation.getClassArray("value")));
		for (Class<?> type : types) {
			Assert.isTrue(type.isInterface() && AnnotatedElementUtils.isAnnotated(type, LfClient.class),
					() -> "%s, which @ImportLfClients of %s names, must be an interface that is annotated with @LfClient"
						.formatted(type.getName(), importing.getClassName()));
		}
		List<String> packages = List.of(annotation.getStringArray("basePackages"));
		if (types.isEmpty() && packages.isEmpty() && AutoConfigurationPackages.has(this.beanFactory)) {
			packages = AutoConfigurationPackages.get(this.beanFactory);
		}
		types.addAll(find(packages));
		types.forEach((type) -> register(type, registry));
	}

	private List<Class<?>> find(List<String> packages) {
		List<Class<?>> found = new ArrayList<>();
		Scanner scanner = new Scanner(this.environment, this.beanFactory);
		scanner.setResourceLoader(this.resourceLoader);
		for (String name : packages) {
			for (BeanDefinition candidate : scanner.findCandidateComponents(name)) {
				Class<?> type = ClassUtils.resolveClassName(String.valueOf(candidate.getBeanClassName()),
						this.resourceLoader.getClassLoader());
				if (!type.isLocalClass()) {
					// A local interface belongs to its method. On JDK 25, the metadata
					// does not show this.
					found.add(type);
				}
			}
		}
		return found;
	}

	private static void register(Class<?> type, BeanDefinitionRegistry registry) {
		if (registry.containsBeanDefinition(type.getName())) {
			return;
		}
		RootBeanDefinition definition = new RootBeanDefinition(LfClientFactoryBean.class);
		definition.setTargetType(ResolvableType.forClassWithGenerics(LfClientFactoryBean.class, type));
		definition.getConstructorArgumentValues().addIndexedArgumentValue(0, type);
		definition.setResourceDescription(type.getName());
		registry.registerBeanDefinition(type.getName(), definition);
	}

	private static final class Scanner extends ClassPathScanningCandidateComponentProvider {

		private Scanner(Environment environment, BeanFactory beanFactory) {
			super(false, environment);
			// The exclusions of tests, as for other components.
			TypeExcludeFilter excluded = new TypeExcludeFilter();
			excluded.setBeanFactory(beanFactory);
			addExcludeFilter(excluded);
			addIncludeFilter(new AnnotationTypeFilter(LfClient.class, true, true));
		}

		@Override
		protected boolean isCandidateComponent(AnnotatedBeanDefinition candidate) {
			return candidate.getMetadata().isInterface() && candidate.getMetadata().isIndependent()
					&& candidate.getMetadata().isAnnotated(LfClient.class.getName());
		}

	}

}
