package org.leaderfollowers.spring.test;

import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.server.ServerLifecycle;
import org.leaderfollowers.spring.test.LfHandlerTest.ServerEnvironment;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.MergedContextConfiguration;

/**
 * Gives the servers of a {@link LfHandlerTest @LfHandlerTest} what the annotation says:
 * random ports, or no start at all and peers of clients in memory. Two tests that want
 * the same share a context.
 *
 * @param serverEnvironment what the annotation says
 */
record LfHandlerTestContextCustomizer(ServerEnvironment serverEnvironment) implements ContextCustomizer {

	private static final String SOURCE_LIFECYCLE = "leaderFollowersEventSourceLifecycle";

	private static final String CLIENT_LIFECYCLE = "leaderFollowersClientLifecycle";

	@Override
	public void customizeContext(ConfigurableApplicationContext context, MergedContextConfiguration mergedConfig) {
		ConfigurableListableBeanFactory beanFactory = context.getBeanFactory();
		beanFactory.addBeanPostProcessor(new HandledServersOnly(beanFactory));
		if (this.serverEnvironment != ServerEnvironment.DEFINED_PORT) {
			// In memory as well: a server is not built without a port.
			RandomPortsContextCustomizer.useRandomPorts(context.getEnvironment());
		}
		context.addBeanFactoryPostProcessor(LfHandlerTestContextCustomizer::leaveSourcesOutIfUnhandled);
		if (this.serverEnvironment == ServerEnvironment.IN_MEMORY) {
			context.addBeanFactoryPostProcessor(LfHandlerTestContextCustomizer::removeLifecycles);
			((BeanDefinitionRegistry) beanFactory).registerBeanDefinition("lfTestPeers",
					new RootBeanDefinition(LfTestPeers.class));
		}
	}

	/** An event source without a handler would fail the start of an application. */
	private static void leaveSourcesOutIfUnhandled(ConfigurableListableBeanFactory beanFactory) {
		for (String name : beanFactory.getBeanNamesForAnnotation(LfHandler.class)) {
			LfHandler annotation = beanFactory.findAnnotationOnBean(name, LfHandler.class, false);
			if (annotation != null && !annotation.source().isEmpty()) {
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
