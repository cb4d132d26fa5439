package org.leaderfollowers.spring.annotation;

import org.junit.jupiter.api.Test;

import org.springframework.context.annotation.AnnotationConfigApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LfHandler @LfHandler}.
 */
class LfHandlerTests {

	@Test
	void makesAClassAComponentThatIsNotNamedAfterItsServer() {
		try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext(
				getClass().getPackageName())) {
			assertThat(context.getBeanNamesForAnnotation(LfHandler.class)).containsExactly("annotatedHandler");
		}
	}

	@Test
	void valueIsAnAliasForServer() {
		try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext(
				AnnotatedHandler.class)) {
			LfHandler annotation = context.findAnnotationOnBean("annotatedHandler", LfHandler.class);
			assertThat(annotation).isNotNull();
			assertThat(annotation.server()).isEqualTo("orders");
			assertThat(annotation.value()).isEqualTo("orders");
		}
	}

}
