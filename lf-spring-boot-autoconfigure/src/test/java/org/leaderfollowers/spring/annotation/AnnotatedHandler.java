package org.leaderfollowers.spring.annotation;

import org.leaderfollowers.spring.EchoHandler;

@LfHandler("orders")
class AnnotatedHandler extends EchoHandler {

}
