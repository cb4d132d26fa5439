package org.leaderfollowers.spring.autoconfigure;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.handler.HandlerFactory;

import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.annotation.AnnotationUtils;

/**
 * Finds the beans that are annotated with {@link LfHandler @LfHandler}, by their
 * definitions: none is created thereby.
 *
 * @param beanFactory where to look, parents excluded: their servers are their own
 */
record HandlerBeans(ConfigurableListableBeanFactory beanFactory) {

	List<HandlerBean> find() {
		Set<String> names = new LinkedHashSet<>();
		for (String name : this.beanFactory.getBeanNamesForAnnotation(LfHandler.class)) {
			// The proxy of a scoped bean, instead of its target.
			names.add(ScopedProxyUtils.isScopedTarget(name) ? ScopedProxyUtils.getOriginalBeanName(name) : name);
		}
		return names.stream().map(this::handler).toList();
	}

	private HandlerBean handler(String name) {
		String target = ScopedProxyUtils.getTargetBeanName(name);
		LfHandler annotation = this.beanFactory
			.findAnnotationOnBean(this.beanFactory.containsBean(target) ? target : name, LfHandler.class, false);
		String server = (annotation != null) ? annotation.server() : ConfiguredProperties.DEFAULT_NAME;
		return new HandlerBean(name, server, this.beanFactory);
	}

	/**
	 * Finds handlers that somebody may have forgotten to annotate.
	 */
	List<String> findUnmarked() {
		Set<String> names = new LinkedHashSet<>(
				List.of(this.beanFactory.getBeanNamesForType(MessageHandler.class, true, false)));
		for (String name : this.beanFactory.getBeanDefinitionNames()) {
			Class<?> type = this.beanFactory.getType(name, false);
			if (type != null && AnnotationUtils.isCandidateClass(type, OnMessage.class)
					&& HandlerFactory.isHandler(type)) {
				names.add(name);
			}
		}
		find().forEach((handler) -> names.remove(handler.name()));
		names.removeIf(ScopedProxyUtils::isScopedTarget);
		return names.stream().map((name) -> HandlerBean.describe(name, this.beanFactory)).toList();
	}

}
