package org.leaderfollowers.spring.autoconfigure;

/**
 * Thrown when a bean is marked as a handler, but is none.
 */
@SuppressWarnings("serial")
class NotMessageHandlerException extends RuntimeException {

	private final String bean;

	private final Class<?> type;

	NotMessageHandlerException(String bean, Class<?> type) {
		super("The bean %s, is no handler but a %s".formatted(bean, type.getName()));
		this.bean = bean;
		this.type = type;
	}

	String getBean() {
		return this.bean;
	}

	Class<?> getType() {
		return this.type;
	}

}
