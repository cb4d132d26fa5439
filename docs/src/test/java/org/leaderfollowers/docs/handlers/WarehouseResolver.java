package org.leaderfollowers.docs.handlers;

import org.leaderfollowers.spring.handler.LfHeaders;

import org.springframework.core.MethodParameter;
import org.springframework.messaging.Message;
import org.springframework.messaging.handler.invocation.HandlerMethodArgumentResolver;
import org.springframework.stereotype.Component;

// tag::resolver[]
@Component
class WarehouseResolver implements HandlerMethodArgumentResolver {

	@Override
	public boolean supportsParameter(MethodParameter parameter) {
		return parameter.getParameterType() == Warehouse.class;
	}

	@Override
	public Object resolveArgument(MethodParameter parameter, Message<?> message) {
		return new Warehouse(message.getHeaders().get(LfHeaders.SERVER, String.class), 12);
	}

}
// end::resolver[]
