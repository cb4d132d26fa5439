package org.leaderfollowers.spring.handler;

/**
 * When a method is called.
 */
enum Phase {

	OPEN("@OnOpen"), MESSAGE("@OnMessage"), CLOSE("@OnClose"), ERROR("@OnError");

	private final String annotation;

	Phase(String annotation) {
		this.annotation = annotation;
	}

	@Override
	public String toString() {
		return this.annotation;
	}

}
