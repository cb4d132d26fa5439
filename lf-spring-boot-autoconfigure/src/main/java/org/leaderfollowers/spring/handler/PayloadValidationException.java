package org.leaderfollowers.spring.handler;

import java.util.stream.Collectors;

import org.springframework.validation.Errors;
import org.springframework.validation.FieldError;
import org.springframework.validation.ObjectError;

/**
 * A message was converted to an object that is not valid. The message of the exception
 * has the names of the fields and of the constraints in it, but none of the values.
 *
 * @serial exclude
 */
@SuppressWarnings("serial")
public class PayloadValidationException extends RuntimeException {

	private final Errors errors;

	/**
	 * Creates the exception.
	 * @param errors what is not valid
	 */
	public PayloadValidationException(Errors errors) {
		super("The payload '%s' is not valid: %s".formatted(errors.getObjectName(),
				errors.getAllErrors()
					.stream()
					.map(PayloadValidationException::describe)
					.sorted()
					.collect(Collectors.joining(", "))));
		this.errors = errors;
	}

	private static String describe(ObjectError error) {
		// Not its default message: that may show the value.
		return (error instanceof FieldError field) ? "%s (%s)".formatted(field.getField(), error.getCode())
				: String.valueOf(error.getCode());
	}

	/**
	 * What is not valid.
	 * @return the errors, with the rejected values
	 */
	public Errors getErrors() {
		return this.errors;
	}

}
