package org.leaderfollowers.spring.test;

import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.server.ServerLifecycle;
import org.leaderfollowers.spring.test.LfHandlerTest.ServerEnvironment;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.PropertyResolver;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.MergedContextConfiguration;

/**
 * Configures the servers of a {@link LfHandlerTest @LfHandlerTest}: with random ports, or
 * without a start and with peers in memory. Tests with equal customizers share a context.
 *
 * @param serverEnvironment the value of the annotation
 */
record LfHandlerTestContextCustomizer(ServerEnvironment serverEnvironment) implements ContextCustomizer {

	private static final String SOURCE_LIFECYCLE = "leaderFollowersEventSourceLifecycle";

	private static final String CLIENT_LIFECYCLE = "leaderFollowersClientLifecycle";

	@Override
	public void customizeContext(ConfigurableApplicationContext context, MergedContextConfiguration mergedConfig) {
		ConfigurableListableBeanFactory beanFactory = context.getBeanFactory();
		beanFactory.addBeanPostProcessor(new HandledServersOnly(beanFactory));
		if (this.serverEnvironment != ServerEnvironment.DEFINED_PORT) {
			// Also in memory, because a server cannot be built without a port.
			RandomPortsContextCustomizer.useRandomPorts(context.getEnvironment());
		}
		context.addBeanFactoryPostProcessor((beans) -> leaveSourcesOutIfUnhandled(beans, context.getEnvironment()));
		if (this.serverEnvironment == ServerEnvironment.IN_MEMORY) {
			context.addBeanFactoryPostProcessor(LfHandlerTestContextCustomizer::removeLifecycles);
			((BeanDefinitionRegistry) beanFactory).registerBeanDefinition("lfTestPeers",
					new RootBeanDefinition(LfTestPeers.class));
		}
	}

	/**
	 * Excludes event sources without a handler, which would fail the start of the
	 * application. The bean factory itself cannot resolve placeholders yet.
	 */
	private static void leaveSourcesOutIfUnhandled(ConfigurableListableBeanFactory beanFactory,
			PropertyResolver properties) {
		for (String name : beanFactory.getBeanNamesForAnnotation(LfHandler.class)) {
			LfHandler annotation = beanFactory.findAnnotationOnBean(name, LfHandler.class, false);
			if (annotation != null && !properties.resolvePlaceholders(annotation.source()).isEmpty()) {
				return;
			}
		}
		if (beanFactory.containsBeanDefinition(SOURCE_LIFECYCLE)) {
			((BeanDefinitionRegistry) beanFactory).removeBeanDefinition(SOURCE_LIFECYCLE);
		}
	}

	private static void removeLifecycles(ConfigurableListableBeanFactory beanFactory) {
		if (beanFactory.containsBeanDefinition(CLIENT_LIFECYCLE)) {
			((BeanDefinitionRegistry) beanFactory).removeBeanDefinition(CLIENT_LIFECYCLE);
		}
		for (String name : beanFactory.getBeanNamesForType(ServerLifecycle.class, true, false)) {
			((BeanDefinitionRegistry) beanFactory).removeBeanDefinition(name);
		}
	}

}
