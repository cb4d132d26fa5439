package org.leaderfollowers.spring.autoconfigure;

import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.TcpClient;

import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.support.AutowireCandidateQualifier;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.BindableRuntimeHintsRegistrar;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;

/**
 * Registers a {@link TcpClient} bean for each client that properties configure, with the
 * name of the client as its qualifier.
 */
class ClientRegistrar implements ImportBeanDefinitionRegistrar {

	static final String CLIENTS = "leaderFollowersClients";

	private final Environment environment;

	ClientRegistrar(Environment environment) {
		this.environment = environment;
	}

	static boolean isOurs(BeanDefinition definition) {
		return CLIENTS.equals(definition.getFactoryBeanName());
	}

	@Override
	public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
		Binder.get(this.environment)
			.bind("lf.clients", Bindable.mapOf(String.class, ClientProperties.class))
			.orElse(Map.of())
			.keySet()
			.forEach((name) -> register(name, registry));
	}

	/**
	 * The properties of clients are not nested in another properties class, so they need
	 * their own hints.
	 */
	static class PropertiesRuntimeHints implements RuntimeHintsRegistrar {

		@Override
		public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
			BindableRuntimeHintsRegistrar.forTypes(ClientProperties.class, LfProperties.Correlation.class)
				.registerHints(hints);
		}

	}

	private static void register(String name, BeanDefinitionRegistry registry) {
		String beanName = name + TcpClient.class.getSimpleName();
		if (registry.containsBeanDefinition(beanName)) {
			// A bean of the application replaces ours.
			return;
		}
		RootBeanDefinition definition = new RootBeanDefinition();
		definition.setTargetType(TcpClient.class);
		definition.setFactoryBeanName(CLIENTS);
		definition.setFactoryMethodName("get");
		definition.getConstructorArgumentValues().addIndexedArgumentValue(0, name);
		definition.addQualifier(new AutowireCandidateQualifier(Qualifier.class, name));
		// All clients are closed together, so the bean has no destroy method.
		definition.setDestroyMethodName("");
		definition.setResourceDescription("property 'lf.clients.%s'".formatted(name));
		registry.registerBeanDefinition(beanName, definition);
	}

}
