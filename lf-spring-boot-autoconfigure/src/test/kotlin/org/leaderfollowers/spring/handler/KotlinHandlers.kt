package org.leaderfollowers.spring.handler

import jakarta.validation.constraints.Size
import java.util.concurrent.CountDownLatch
import kotlin.concurrent.thread
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import org.leaderfollowers.Connection
import org.leaderfollowers.spring.annotation.LfHandler
import org.leaderfollowers.spring.annotation.OnClose
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
class SuspendingHandler(private val gate: CompletableDeferred<Unit> = CompletableDeferred()) {

	val cancelled = CountDownLatch(1)

	@OnMessage(prefix = ["gate "])
	suspend fun gated(text: String, @Header user: String = "nobody"): String {
		gate.await()
		return "$text $user"
	}

	@OnMessage(prefix = ["open"])
	suspend fun open() {
		gate.complete(Unit)
	}

	// tag::suspending[]
	@OnMessage(prefix = ["order "])
	suspend fun order(order: KotlinOrder): KotlinOrder {
		delay(1)
		return order.copy(quantity = order.quantity + 1)
	}

	@OnMessage(prefix = ["count "])
	fun count(to: Int): Flow<Int> = flow {
		for (i in 1..to) {
			delay(1)
			emit(i)
		}
	}
	// end::suspending[]

	@OnMessage(prefix = ["size "])
	suspend fun size(@Size(max = 3) text: String) = text

	@OnMessage(prefix = ["fail "])
	suspend fun fail(text: String): String {
		delay(1)
		throw IllegalStateException(text)
	}

	@OnMessage(prefix = ["endless"])
	suspend fun endless(connection: Connection) {
		try {
			thread { connection.close() }
			awaitCancellation()
		}
		finally {
			cancelled.countDown()
		}
	}

	@OnError
	fun failed(ex: IllegalStateException) = "failed: ${ex.message}"

	@OnError
	fun invalid(ex: PayloadValidationException) = "invalid"

}

@LfHandler
class SuspendingCloseHandler {

	@OnMessage
	fun message(text: String) = text

	@OnClose
	suspend fun closed() {
	}

}

interface Suspends {

	@OnMessage
	suspend fun handle(text: String): String

}

@LfHandler
class SuspendingBehindInterface : Suspends {

	override suspend fun handle(text: String) = "suspended $text"

}
