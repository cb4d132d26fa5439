package org.leaderfollowers.spring.handler

import org.leaderfollowers.Connection
import org.leaderfollowers.spring.annotation.LfHandler
import org.leaderfollowers.spring.annotation.OnError
import org.leaderfollowers.spring.annotation.OnMessage
import org.springframework.messaging.handler.annotation.Header

data class KotlinOrder(val item: String, val quantity: Int = 1, val note: String? = null)

@LfHandler
class KotlinHandler {

	@OnMessage(prefix = ["order "])
	fun order(order: KotlinOrder) = "${order.quantity} x ${order.item} ${order.note}"

	@OnMessage(prefix = ["nullable "])
	fun nullable(order: KotlinOrder?, @Header user: String?) = "${order?.item} by $user"

	@OnMessage(prefix = ["default "])
	fun default(text: String, @Header count: Int = 7, @Header user: String = "nobody") = "$text $count $user"

	@OnMessage(prefix = ["fail "])
	fun fail(text: String, @Header count: Int = 7): Unit = throw IllegalStateException("$text $count")

	@OnMessage(prefix = ["login "])
	fun login(user: String, connection: Connection) {
		connection.attributes()["user"] = user
		connection.attributes()["count"] = 3
	}

	@OnMessage(prefix = ["unit "])
	fun unit(@Header none: String = "nothing") {
	}

	@OnError
	fun failed(ex: IllegalStateException) = "failed: ${ex.message}"

}

@LfHandler
class SuspendingHandler {

	@OnMessage
	suspend fun handle(text: String) = text

}
