package org.leaderfollowers.spring.handler;

import java.util.List;
import java.util.stream.Collectors;

import org.springframework.context.MessageSourceResolvable;
import org.springframework.validation.Errors;
import org.springframework.validation.FieldError;

/**
 * Thrown if a message was converted to an object that is not valid. The message of the
 * exception contains the names of the fields and of the constraints, but no values.
 *
 * @serial exclude
 */
@SuppressWarnings("serial")
public class PayloadValidationException extends RuntimeException {

	private final Errors errors;

	/**
	 * Creates the exception.
	 * @param errors the violated constraints
	 */
	public PayloadValidationException(Errors errors) {
		super("The payload '%s' is not valid: %s".formatted(errors.getObjectName(), describe(errors.getAllErrors())));
		this.errors = errors;
	}

	/** Names the fields and the constraints, but no values. */
	static String describe(List<? extends MessageSourceResolvable> errors) {
		return errors.stream().map(PayloadValidationException::describe).sorted().collect(Collectors.joining(", "));
	}

	private static String describe(MessageSourceResolvable error) {
		// The default message of the error is left out, because it may contain the value.
		String[] codes = error.getCodes();
		String code = (codes != null && codes.length > 0) ? codes[codes.length - 1] : "invalid";
		return (error instanceof FieldError field) ? "%s (%s)".formatted(field.getField(), code) : code;
	}

	/**
	 * Returns the violated constraints.
	 * @return the errors, with the rejected values
	 */
	public Errors getErrors() {
		return this.errors;
	}

}
