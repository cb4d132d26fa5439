package org.leaderfollowers.spring.handler;

import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.annotation.LfAdvice;
import org.leaderfollowers.spring.annotation.LfClient;
import org.leaderfollowers.spring.annotation.LfHandler;

import org.springframework.aot.generate.GenerationContext;
import org.springframework.aot.hint.BindingReflectionHintsRegistrar;
import org.springframework.aot.hint.ExecutableMode;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.beans.factory.aot.BeanRegistrationAotContribution;
import org.springframework.beans.factory.aot.BeanRegistrationAotProcessor;
import org.springframework.beans.factory.aot.BeanRegistrationCode;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.RegisteredBean;
import org.springframework.core.ResolvableType;
import org.springframework.util.ClassUtils;

/**
 * Contributes hints for native images: for the methods of {@link LfHandler @LfHandler}
 * and {@link LfAdvice @LfAdvice} beans, which are called by reflection, for
 * {@link LfClient @LfClient} interfaces, and for the types that messages are converted to
 * and from.
 */
class HandlerMethodsAotProcessor implements BeanRegistrationAotProcessor {

	@Override
	public @Nullable BeanRegistrationAotContribution processAheadOfTime(RegisteredBean registeredBean) {
		if (registeredBean.isInnerBean()) {
			// Handlers and clients are found by name, which an inner bean does not have.
			return null;
		}
		ConfigurableListableBeanFactory beanFactory = registeredBean.getBeanFactory();
		String name = registeredBean.getBeanName();
		if (beanFactory.findAnnotationOnBean(name, LfClient.class, false) != null) {
			Class<?> implemented = beanFactory.getType(name, false);
			return (implemented != null && implemented.isInterface())
					? new Contribution(implemented, List.of(implemented.getMethods())) : null;
		}
		if (beanFactory.findAnnotationOnBean(name, LfHandler.class, false) == null
				&& beanFactory.findAnnotationOnBean(name, LfAdvice.class, false) == null) {
			return null;
		}
		Class<?> type = registeredBean.getBeanClass();
		List<Method> methods = HandlerMethods.of(type).methods();
		return methods.isEmpty() ? null : new Contribution(type, methods);
	}

	/**
	 * Hints for the methods of one bean that are used by reflection at run time.
	 *
	 * @param type the class of the bean, or the interface to implement
	 * @param methods its methods
	 */
	private record Contribution(Class<?> type, List<Method> methods) implements BeanRegistrationAotContribution {

		private static final BindingReflectionHintsRegistrar BINDING = new BindingReflectionHintsRegistrar();

		@Override
		public void applyTo(GenerationContext generationContext, BeanRegistrationCode beanRegistrationCode) {
			ReflectionHints hints = generationContext.getRuntimeHints().reflection();
			if (this.type.isInterface()) {
				generationContext.getRuntimeHints().proxies().registerJdkProxy(this.type);
			}
			Set<Type> converted = new LinkedHashSet<>();
			for (Method method : this.methods) {
				hints.registerMethod(method, ExecutableMode.INVOKE);
				// A JDK proxy has the methods of the interfaces.
				for (Class<?> contract : ClassUtils.getAllInterfacesForClass(this.type)) {
					Method declared = ClassUtils.getMethodIfAvailable(contract, method.getName(),
							method.getParameterTypes());
					if (declared != null) {
						hints.registerMethod(declared, ExecutableMode.INVOKE);
					}
				}
				for (int i = 0; i < method.getParameterCount(); i++) {
					collect(ResolvableType.forMethodParameter(method, i, this.type), converted);
				}
				collect(ResolvableType.forMethodReturnType(method, this.type), converted);
			}
			BINDING.registerReflectionHints(hints, converted.toArray(Type[]::new));
		}

		/** Unwraps, for example, the Optional or the future of a type. */
		private static void collect(ResolvableType type, Set<Type> converted) {
			Class<?> resolved = type.resolve();
			if (resolved == null || resolved.isPrimitive()) {
				return;
			}
			if (resolved.isArray()) {
				collect(type.getComponentType(), converted);
			}
			else if (isConverted(resolved)) {
				converted.add(type.getType());
			}
			for (ResolvableType generic : type.getGenerics()) {
				collect(generic, converted);
			}
		}

		/**
		 * Whether messages may be converted to or from a type. Types of the JDK and of
		 * the engine, and exceptions, need no hints.
		 */
		private static boolean isConverted(Class<?> type) {
			return !type.getName().startsWith("java.") && !type.getName().startsWith("javax.")
					&& !type.getPackage().equals(Connection.class.getPackage())
					&& !Throwable.class.isAssignableFrom(type);
		}

	}

	/**
	 * {@link RuntimeHintsRegistrar} that lets a native image detect whether Jackson and
	 * Jakarta Validation are present.
	 */
	static class JsonHints implements RuntimeHintsRegistrar {

		@Override
		public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
			hints.reflection().registerTypeIfPresent(classLoader, JsonConverter.MAPPER);
			hints.reflection().registerTypeIfPresent(classLoader, Arguments.CONSTRAINT);
		}

	}

}
