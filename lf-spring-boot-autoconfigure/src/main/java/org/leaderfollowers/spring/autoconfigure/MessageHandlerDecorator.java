package org.leaderfollowers.spring.autoconfigure;

import org.leaderfollowers.MessageHandler;

/**
 * Wraps the handler of each server that is auto-configured.
 */
@FunctionalInterface
interface MessageHandlerDecorator {

	MessageHandler decorate(MessageHandler handler, String server, String handlerName);

}
