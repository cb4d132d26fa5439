package org.leaderfollowers.spring.handler;

import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

import jakarta.validation.metadata.MethodDescriptor;
import jakarta.validation.metadata.ParameterDescriptor;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.context.MessageSourceResolvable;
import org.springframework.core.Conventions;
import org.springframework.core.MethodParameter;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.validation.BeanPropertyBindingResult;
import org.springframework.validation.Errors;
import org.springframework.validation.FieldError;
import org.springframework.validation.ObjectError;
import org.springframework.validation.SmartValidator;
import org.springframework.validation.Validator;
import org.springframework.validation.annotation.Validated;
import org.springframework.validation.annotation.ValidationAnnotationUtils;
import org.springframework.validation.beanvalidation.MethodValidationAdapter;
import org.springframework.validation.method.MethodValidationResult;
import org.springframework.validation.method.ParameterErrors;
import org.springframework.validation.method.ParameterValidationResult;

/**
 * Validates payloads.
 *
 * @param validator validates the payload
 * @param name the name of the payload in error messages
 * @param groups the groups of constraints to validate; none for the default group
 */
record PayloadValidation(Validator validator, String name, Object[] groups) {

	/**
	 * Finds whether a parameter or a return value is validated: it has {@code @Valid},
	 * {@code @Validated} or an annotation whose name begins with {@code Valid}.
	 * @param annotations the annotations of the parameter or of the method
	 * @return the groups, or {@code null} for no validation
	 */
	static Object @Nullable [] groups(Annotation[] annotations) {
		for (Annotation annotation : annotations) {
			Object[] groups = ValidationAnnotationUtils.determineValidationHints(annotation);
			if (groups != null) {
				return groups;
			}
		}
		return null;
	}

	void validate(@Nullable Object payload) {
		if (payload == null || !this.validator.supports(payload.getClass())) {
			return;
		}
		BeanPropertyBindingResult errors = new BeanPropertyBindingResult(payload, this.name);
		if (this.validator instanceof SmartValidator smart && this.groups.length > 0) {
			smart.validate(payload, errors, this.groups);
		}
		else {
			this.validator.validate(payload, errors);
		}
		if (errors.hasErrors()) {
			throw new PayloadValidationException(errors);
		}
	}

	/**
	 * Validates all arguments of a method by the constraints of its parameters, as Spring
	 * MVC does. Needs Jakarta Validation.
	 *
	 * @param adapter validates the arguments
	 * @param target the bean, or the target of its proxy if that is known
	 * @param method the method
	 * @param parameters the parameters of the method
	 * @param groups the groups of constraints to validate; none for the default group
	 */
	record OfArguments(MethodValidationAdapter adapter, Object target, Method method, MethodParameter[] parameters,
			Class<?>[] groups) {

		/** Whether a validator supports constraints of parameters. */
		static boolean supports(Validator validator) {
			return validator instanceof jakarta.validation.Validator;
		}

		/**
		 * Whether a method has constraints that the validation of its payload as a bean
		 * does not see: those of a parameter itself or of the elements of a container.
		 * @param type the class of the bean; if it is annotated with {@link Validated},
		 * its proxy validates all arguments
		 */
		static boolean isNeeded(Validator validator, Class<?> type, Method method) {
			if (!(validator instanceof jakarta.validation.Validator jakarta)
					|| AnnotatedElementUtils.hasAnnotation(type, Validated.class)) {
				return false;
			}
			MethodDescriptor descriptor = jakarta.getConstraintsForClass(type)
				.getConstraintsForMethod(method.getName(), method.getParameterTypes());
			return descriptor != null && (descriptor.getCrossParameterDescriptor().hasConstraints()
					|| descriptor.getParameterDescriptors().stream().anyMatch(OfArguments::isConstrained));
		}

		private static boolean isConstrained(ParameterDescriptor parameter) {
			Class<?> type = parameter.getElementClass();
			return parameter.hasConstraints() || !parameter.getConstrainedContainerElementTypes().isEmpty()
					|| (parameter.isCascaded() && (type.isArray() || Iterable.class.isAssignableFrom(type)
							|| Map.class.isAssignableFrom(type)));
		}

		static OfArguments of(Validator validator, Object bean, Method method, MethodParameter[] parameters) {
			Class<?>[] groups = Stream.of(parameters)
				.map((parameter) -> PayloadValidation.groups(parameter.getParameterAnnotations()))
				.filter(Objects::nonNull)
				.flatMap(Stream::of)
				.filter(Class.class::isInstance)
				.toArray(Class<?>[]::new);
			Object target = AopProxyUtils.getSingletonTarget(bean);
			return new OfArguments(new MethodValidationAdapter((jakarta.validation.Validator) validator),
					(target != null) ? target : bean, method, parameters, groups);
		}

		void validate(@Nullable Object[] arguments) {
			MethodValidationResult result = this.adapter.validateArguments(this.target, this.method, this.parameters,
					// Kotlin may have added a parameter, whose argument is null here.
					Arrays.copyOf(arguments, this.method.getParameterCount()), this.groups);
			// Spring does not count errors of constraints on all parameters together.
			if (result.hasErrors() || !result.getCrossParameterValidationResults().isEmpty()) {
				throw new PayloadValidationException(errors(result));
			}
		}

		private static Errors errors(MethodValidationResult result) {
			List<ParameterValidationResult> parameters = result.getParameterValidationResults();
			String name = parameters.isEmpty() ? result.getMethod().getName() : nameOf(parameters.get(0));
			BeanPropertyBindingResult errors = new BeanPropertyBindingResult(
					parameters.isEmpty() ? null : parameters.get(0).getArgument(), name);
			for (ParameterValidationResult parameter : parameters) {
				String path = (nameOf(parameter).equals(name) ? "" : nameOf(parameter)) + element(parameter);
				parameter.getResolvableErrors().forEach((error) -> errors.addError(error(name, path, error)));
			}
			result.getCrossParameterValidationResults().forEach((error) -> errors.addError(error(name, "", error)));
			return errors;
		}

		private static String nameOf(ParameterValidationResult result) {
			if (result instanceof ParameterErrors bean && bean.getContainer() == null) {
				return bean.getObjectName();
			}
			String name = result.getMethodParameter().getParameterName();
			return (name != null) ? name : Conventions.getVariableNameForParameter(result.getMethodParameter());
		}

		private static String element(ParameterValidationResult result) {
			Object key = (result.getContainerIndex() != null) ? result.getContainerIndex() : result.getContainerKey();
			return (key != null) ? "[" + key + "]" : "";
		}

		private static ObjectError error(String name, String path, MessageSourceResolvable error) {
			String field = path;
			Object rejected = null;
			if (error instanceof FieldError inner) {
				field = path.isEmpty() ? inner.getField() : path + "." + inner.getField();
				rejected = inner.getRejectedValue();
			}
			return field.isEmpty()
					? new ObjectError(name, error.getCodes(), error.getArguments(), error.getDefaultMessage())
					: new FieldError(name, field, rejected, false, error.getCodes(), error.getArguments(),
							error.getDefaultMessage());
		}

	}

}
