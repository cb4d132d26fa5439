package org.leaderfollowers.spring.handler;

import java.lang.annotation.Annotation;

import org.jspecify.annotations.Nullable;

import org.springframework.core.Conventions;
import org.springframework.core.MethodParameter;
import org.springframework.validation.BeanPropertyBindingResult;
import org.springframework.validation.SmartValidator;
import org.springframework.validation.Validator;
import org.springframework.validation.annotation.ValidationAnnotationUtils;

/**
 * Validates payloads.
 *
 * @param validator what does it
 * @param name what the payload is called
 * @param groups the groups of constraints that count; none for the default group
 */
record PayloadValidation(Validator validator, String name, Object[] groups) {

	/**
	 * Whether a parameter is to be validated: by {@code @Valid}, {@code @Validated} or an
	 * annotation that begins with that.
	 * @return the groups, or {@code null} if it is not
	 */
	static Object @Nullable [] groups(MethodParameter parameter) {
		for (Annotation annotation : parameter.getParameterAnnotations()) {
			Object[] groups = ValidationAnnotationUtils.determineValidationHints(annotation);
			if (groups != null) {
				return groups;
			}
		}
		return null;
	}

	static PayloadValidation of(Validator validator, MethodParameter parameter, Object[] groups) {
		return new PayloadValidation(validator, Conventions.getVariableNameForParameter(parameter), groups);
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

}
