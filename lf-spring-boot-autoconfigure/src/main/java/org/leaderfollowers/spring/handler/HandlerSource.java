package org.leaderfollowers.spring.handler;

/**
 * A bean that handles messages.
 *
 * @param bean the bean itself, or the proxy around it
 * @param type its class, which is not that of a proxy
 * @param name the name of the bean
 * @param description the bean and where it is defined, for people
 */
public record HandlerSource(Object bean, Class<?> type, String name, String description) {

}
