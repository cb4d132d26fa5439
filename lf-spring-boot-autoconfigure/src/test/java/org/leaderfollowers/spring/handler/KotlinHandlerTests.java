package org.leaderfollowers.spring.handler;

import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.spring.LineClient;

import org.springframework.aop.framework.autoproxy.BeanNameAutoProxyCreator;
import org.springframework.aop.support.AopUtils;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Handlers that are written in Kotlin.
 */
class KotlinHandlerTests {

	@Test
	void nullableAndDefaultArguments() {
		HandlerRunner.talk(HandlerRunner.of(KotlinHandler.class), (client, context) -> {
			assertThat(client.ask("order {\"item\":\"tea\",\"quantity\":2}")).isEqualTo("2 x tea null");
			assertThat(client.ask("nullable ")).isEqualTo("null by null");
			assertThat(client.ask("default a")).isEqualTo("a 7 nobody");
			assertThat(client.ask("fail b")).isEqualTo("failed: b 7");
			client.send("unit ");
			client.send("login ada");
			assertThat(client.ask("default a")).isEqualTo("a 3 ada");
			assertThat(client.ask("fail b")).isEqualTo("failed: b 3");
			assertThat(client.ask("nullable {\"item\":\"tea\",\"quantity\":2}")).isEqualTo("tea by ada");
		});
	}

	@Test
	void suspendingFunctions() {
		HandlerRunner.talk(HandlerRunner.of(SuspendingHandler.class), (client, context) -> {
			assertThat(client.ask("order {\"item\":\"tea\",\"quantity\":1}"))
				.isEqualTo("{\"item\":\"tea\",\"quantity\":2,\"note\":null}");
			assertThat(client.ask("count 3")).isEqualTo("1");
			assertThat(client.read()).isEqualTo("2");
			assertThat(client.read()).isEqualTo("3");
			assertThat(client.ask("size ab")).isEqualTo("ab");
			assertThat(client.ask("size abcd")).isEqualTo("invalid");
			assertThat(client.ask("fail a")).isEqualTo("failed: a");
			client.send("gate a");
			client.send("fail b");
			try (LineClient other = HandlerRunner.connect(context)) {
				other.send("open");
			}
			assertThat(client.read()).isEqualTo("a nobody");
			assertThat(client.read()).isEqualTo("failed: b");
			assertThat(client.ask("endless")).isEqualTo("<closed>");
			assertThat(context.getBean(SuspendingHandler.class).getCancelled().await(60, TimeUnit.SECONDS)).isTrue();
		});
	}

	@Test
	void suspendingFunctionsBehindAJdkProxy() {
		HandlerRunner
			.talk(HandlerRunner.of(SuspendingBehindInterface.class).withBean(BeanNameAutoProxyCreator.class, () -> {
				BeanNameAutoProxyCreator creator = new BeanNameAutoProxyCreator();
				creator.setBeanNames("suspendingBehindInterface");
				creator.setInterceptorNames();
				return creator;
			}), (client, context) -> {
				assertThat(AopUtils.isJdkDynamicProxy(context.getBean("suspendingBehindInterface"))).isTrue();
				assertThat(client.ask("a")).isEqualTo("suspended a");
			});
	}

}
