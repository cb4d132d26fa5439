package org.leaderfollowers.spring.test;

import java.util.List;

import org.springframework.test.context.ContextConfigurationAttributes;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.ContextCustomizerFactory;
import org.springframework.test.context.TestContextAnnotationUtils;

/**
 * Finds {@link LfHandlerTest @LfHandlerTest} on a test class. For other tests, it creates
 * the customizer that a property enables for random ports.
 */
class LfHandlerTestContextCustomizerFactory implements ContextCustomizerFactory {

	@Override
	public ContextCustomizer createContextCustomizer(Class<?> testClass,
			List<ContextConfigurationAttributes> configAttributes) {
		LfHandlerTest annotation = TestContextAnnotationUtils.findMergedAnnotation(testClass, LfHandlerTest.class);
		return (annotation != null) ? new LfHandlerTestContextCustomizer(annotation.serverEnvironment())
				: new RandomPortsContextCustomizer();
	}

}
