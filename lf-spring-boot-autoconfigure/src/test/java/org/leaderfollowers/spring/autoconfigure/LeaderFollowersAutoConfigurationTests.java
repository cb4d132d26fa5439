package org.leaderfollowers.spring.autoconfigure;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;

import org.aopalliance.intercept.MethodInterceptor;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.boot.test.system.CapturedOutput;
import org.leaderfollowers.CloseRate;
import org.leaderfollowers.Connection;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.EchoHandler;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.client.LeaderFollowersClients;
import org.leaderfollowers.spring.handler.ClientProxies;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.server.ServerLifecycle;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LeaderFollowersAutoConfiguration}.
 */
class LeaderFollowersAutoConfigurationTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class));

	@Test
	void withoutTheEngineThereIsNothing() {
		this.contextRunner.withClassLoader(new FilteredClassLoader(TcpServer.class))
			.run((context) -> assertThat(context).hasNotFailed()
				.doesNotHaveBean(LeaderFollowersAutoConfiguration.class)
				.doesNotHaveBean(LfProperties.class));
	}

	@Test
	void withoutTransactionsNoGuardAsksForThem() {
		this.contextRunner.withClassLoader(new FilteredClassLoader(TransactionSynchronizationManager.class))
			.run((context) -> assertThat(context).hasNotFailed()
				.hasSingleBean(LeaderFollowersPools.class)
				.doesNotHaveBean(NestingGuards.OutsideOfTransactions.class));
	}

	@Test
	void ifDisabledThereIsNothing() {
		this.contextRunner.withUserConfiguration(EchoBeanMethod.class)
			.withPropertyValues("lf.enabled=false", "lf.server.port=0")
			.run((context) -> assertThat(context).hasNotFailed()
				.doesNotHaveBean(LeaderFollowersAutoConfiguration.class)
				.doesNotHaveBean(LeaderFollowersServers.class));
	}

	@Test
	void withoutHandlersAndPropertiesNothingStarts() {
		this.contextRunner.run((context) -> {
			assertThat(context).hasNotFailed();
			assertThat(context.getBean(LeaderFollowersServers.class)).isEmpty();
			assertThat(context.getBean(LeaderFollowersPools.class)).isEmpty();
		});
	}

	@Test
	void exchangersOfTheUserTakeTheirPlace() {
		ClientProxies.Exchangers exchangers = (client, type) -> {
			throw new IllegalStateException("Not used");
		};
		this.contextRunner.withBean("mine", ClientProxies.Exchangers.class, () -> exchangers)
			.run((context) -> assertThat(context).hasNotFailed()
				.getBean(ClientProxies.Exchangers.class)
				.isSameAs(exchangers));
	}

	@Test
	void clientsWaitForTheirExchangesAsLongAsAPhase() {
		this.contextRunner.withPropertyValues("spring.lifecycle.timeout-per-shutdown-phase=7s")
			.run((context) -> assertThat((Object) context.getBean(LeaderFollowersClients.class))
				.hasFieldOrPropertyWithValue("grace", Duration.ofSeconds(7)));
	}

	@Test
	void aGradualShutdownTakesAsLongAsAPhase() {
		this.contextRunner
			.withPropertyValues("spring.lifecycle.timeout-per-shutdown-phase=7s", "lf.shutdown.close-rate=50/s")
			.run((context) -> assertThat(context.getBean("leaderFollowersServerGracefulShutdownLifecycle"))
				.extracting("shutdown")
				.hasFieldOrPropertyWithValue("timeout", Duration.ofSeconds(7))
				.hasFieldOrPropertyWithValue("rate", CloseRate.of("50/s")));
	}

	@Test
	void eventSourcesWaitForTheirHandlersAsLongAsAPhase() {
		this.contextRunner.withPropertyValues("spring.lifecycle.timeout-per-shutdown-phase=7s")
			.run((context) -> assertThat(context.getBean("leaderFollowersEventSourceLifecycle"))
				.hasFieldOrPropertyWithValue("grace", Duration.ofSeconds(7)));
	}

	@Test
	void handlerBeanMethodMakesTheDefaultServer() {
		this.contextRunner.withUserConfiguration(EchoBeanMethod.class)
			.withPropertyValues("lf.server.port=0")
			.run((context) -> {
				assertThat(ask(context, "default", "hello")).isEqualTo("hello");
				ServerSnapshot server = server(context, "default");
				assertThat(server.handler()).isEqualTo("echo");
				assertThat(server.framing()).startsWith("line");
				assertThat(server.pool()).isEqualTo("default");
				PoolSnapshot pool = context.getBean(LeaderFollowersPools.class).get("default").snapshot();
				assertThat(pool.minThreads()).isEqualTo(4);
				assertThat(pool.maxThreads()).isEqualTo(64);
			});
	}

	@Test
	void handlerAloneMakesTheDefaultServerOnItsDefaultPort() {
		this.contextRunner.withUserConfiguration(EchoBeanMethod.class)
			.withBean(BeanPostProcessor.class, LeaderFollowersAutoConfigurationTests::startNothing)
			.run((context) -> assertThat(
					context.getBean(LeaderFollowersServers.class).get("default").address().getPort())
				.isEqualTo(7070));
	}

	@Test
	void severalServersShareThePoolsThatTheyName() {
		this.contextRunner.withUserConfiguration(ThreeHandlers.class)
			.withPropertyValues("lf.server.port=0", "lf.servers.orders.port=0", "lf.servers.orders.pool=slow",
					"lf.servers.quotes.port=0", "lf.servers.quotes.pool=slow", "lf.pools.slow.threads.min=2",
					"lf.pools.slow.threads.max=3", "lf.pool.threads.max=5")
			.run((context) -> {
				assertThat(ask(context, "default", "a")).isEqualTo("a");
				assertThat(ask(context, "orders", "b")).isEqualTo("orders b");
				assertThat(ask(context, "quotes", "c")).isEqualTo("quotes c");
				assertThat(server(context, "default").pool()).isEqualTo("default");
				assertThat(server(context, "orders").pool()).isEqualTo("slow");
				assertThat(server(context, "quotes").pool()).isEqualTo("slow");
				LeaderFollowersPools pools = context.getBean(LeaderFollowersPools.class);
				assertThat(pools.names()).containsExactly("default", "slow");
				assertThat(pools.get("slow").snapshot().maxThreads()).isEqualTo(3);
				assertThat(pools.get("default").snapshot().maxThreads()).isEqualTo(5);
			});
	}

	@Test
	void theTimeForMessagesThatHaveBegunReachesEachServer() {
		this.contextRunner.withUserConfiguration(ThreeHandlers.class)
			.withPropertyValues("lf.server.port=0", "lf.servers.orders.port=0", "lf.servers.quotes.port=0",
					"lf.shutdown.message-timeout=7s")
			.run((context) -> assertThat(context.getBean(LeaderFollowersServers.class)).hasSize(3)
				.allSatisfy((server) -> assertThat(server)
					.hasFieldOrPropertyWithValue("life.options.timeouts.drainNanos", Duration.ofSeconds(7).toNanos())));
	}

	@Test
	void theDefaultServerCanBeConfiguredAmongTheOthers() {
		this.contextRunner.withUserConfiguration(EchoBeanMethod.class)
			.withPropertyValues("lf.servers.default.port=0", "lf.servers.default.framing.type=raw",
					"lf.pools.default.threads.max=7")
			.run((context) -> {
				assertThat(server(context, "default").framing()).startsWith("raw");
				assertThat(context.getBean(LeaderFollowersPools.class).get("default").snapshot().maxThreads())
					.isEqualTo(7);
			});
	}

	@Test
	void poolBeanTakesThePlaceOfTheConfiguredPool() {
		this.contextRunner.withUserConfiguration(EchoBeanMethod.class, PoolBeans.class)
			.withPropertyValues("lf.server.port=0", "lf.pool.threads.max=9")
			.run((context) -> {
				LeaderFollowersPools pools = context.getBean(LeaderFollowersPools.class);
				assertThat(pools.get("default")).isSameAs(context.getBean("myPool"));
				assertThat(pools.get("other")).isSameAs(context.getBean("otherPool"));
				assertThat(pools.names()).containsExactly("default", "other");
				assertThat(context.getBean(LeaderFollowersServers.class).get("default").pool())
					.isSameAs(context.getBean("myPool"));
				assertThat(ask(context, "default", "hello")).isEqualTo("hello");
			});
	}

	@Test
	void poolBeansOfTheSameNameFail() {
		this.contextRunner.withBean("one", LeaderFollowersPool.class, () -> LeaderFollowersPool.builder().build())
			.withBean("two", LeaderFollowersPool.class, () -> LeaderFollowersPool.builder().build())
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessage("There are two pools named 'default': give one of them another name"));
	}

	@Test
	void serverBeanTakesThePlaceOfTheConfiguredServer() {
		this.contextRunner.withUserConfiguration(EchoBeanMethod.class, ServerBean.class)
			.withPropertyValues("lf.server.framing.type=raw", "lf.server.max-connections=1")
			.run((context) -> {
				LeaderFollowersServers servers = context.getBean(LeaderFollowersServers.class);
				assertThat(servers).containsExactly(context.getBean(TcpServer.class));
				assertThat(ask(context, "default", "hello")).isEqualTo("mine hello");
			});
	}

	@Test
	void serverBeanLivesBesideConfiguredServers() {
		this.contextRunner.withUserConfiguration(ServerBean.class, ThreeHandlers.class)
			.withPropertyValues("lf.servers.orders.port=0", "lf.servers.quotes.port=0")
			.run((context) -> {
				assertThat(ask(context, "default", "hello")).isEqualTo("mine hello");
				assertThat(ask(context, "orders", "hello")).isEqualTo("orders hello");
			});
	}

	@Test
	void serverBeanThatIsStartedAlreadyIsLeftRunning() {
		this.contextRunner.withUserConfiguration(StartedServerBean.class)
			.run((context) -> assertThat(ask(context, "default", "hello")).isEqualTo("mine hello"));
	}

	@Test
	void otherBeansBackOff() {
		this.contextRunner.withUserConfiguration(OwnInfrastructure.class).run((context) -> {
			assertThat(context).hasSingleBean(LeaderFollowersPools.class)
				.hasSingleBean(LeaderFollowersServers.class)
				.doesNotHaveBean("leaderFollowersPools")
				.doesNotHaveBean("leaderFollowersServers");
			assertThat(context.getBeansOfType(ServerLifecycle.class)).hasSize(3);
		});
	}

	@Test
	void proxiedHandlerIsCalledThroughItsProxy() {
		this.contextRunner.withUserConfiguration(EchoBeanMethod.class)
			.withBean(BeanPostProcessor.class, () -> new BeanPostProcessor() {

				@Override
				public Object postProcessAfterInitialization(Object bean, String beanName) {
					return (bean instanceof EchoHandler handler) ? shouting(handler) : bean;
				}

			})
			.withPropertyValues("lf.server.port=0")
			.run((context) -> assertThat(ask(context, "default", "hello")).isEqualTo("hello!"));
	}

	@Test
	void scopedHandlerIsCalledThroughItsProxy() {
		this.contextRunner.withUserConfiguration(ScopedHandler.class)
			.withPropertyValues("lf.servers.orders.port=0")
			.run((context) -> {
				assertThat(ask(context, "orders", "hello")).isEqualTo("hello");
				assertThat(server(context, "orders").handler()).isEqualTo("scoped");
			});
	}

	@Test
	void lazyHandlersServeAsWell() {
		this.contextRunner.withUserConfiguration(EchoBeanMethod.class)
			.withInitializer(
					(context) -> context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor()))
			.withPropertyValues("lf.server.port=0")
			.run((context) -> assertThat(ask(context, "default", "hello")).isEqualTo("hello"));
	}

	@Test
	void thePortIsInTheEnvironment() {
		this.contextRunner.withUserConfiguration(ThreeHandlers.class)
			.withPropertyValues("lf.server.port=0", "lf.servers.orders.port=0", "lf.servers.quotes.port=0")
			.run((context) -> {
				LeaderFollowersServers servers = context.getBean(LeaderFollowersServers.class);
				assertThat(context.getEnvironment().getProperty("local.lf.server.port", Integer.class))
					.isEqualTo(servers.get("default").port());
				assertThat(context.getEnvironment().getProperty("local.lf.servers.default.port", Integer.class))
					.isEqualTo(servers.get("default").port());
				assertThat(context.getEnvironment().getProperty("local.lf.servers.orders.port", Integer.class))
					.isEqualTo(servers.get("orders").port());
			});
	}

	@Test
	void poolsAreClosedWithTheContext() {
		LeaderFollowersPool[] pool = new LeaderFollowersPool[1];
		this.contextRunner.withUserConfiguration(EchoBeanMethod.class)
			.withPropertyValues("lf.server.port=0")
			.run((context) -> pool[0] = context.getBean(LeaderFollowersPools.class).get("default"));
		assertThat(pool[0].snapshot().state()).isEqualTo(PoolSnapshot.State.STOPPED);
		assertThat(pool[0].snapshot().threads()).isEmpty();
	}

	@Test
	void poolsAreClosedBeforeWhatHandlersUse() {
		Resource[] resource = new Resource[1];
		this.contextRunner.withUserConfiguration(HandlerWithResource.class)
			.withInitializer(
					(context) -> context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor()))
			.withPropertyValues("lf.server.port=0")
			.run((context) -> {
				resource[0] = context.getBean(Resource.class);
				resource[0].pool = context.getBean(LeaderFollowersPools.class).get("default");
			});
		assertThat(resource[0].poolStateWhenClosed).isEqualTo(PoolSnapshot.State.STOPPED);
	}

	private static ServerSnapshot server(ApplicationContext context, String name) {
		return context.getBean(LeaderFollowersServers.class).get(name).snapshot();
	}

	private static String ask(ApplicationContext context, String server, String line) throws IOException {
		try (LineClient client = new LineClient(context.getBean(LeaderFollowersServers.class).get(server).port())) {
			return client.ask(line);
		}
	}

	private static MessageHandler shouting(EchoHandler handler) {
		ProxyFactory factory = new ProxyFactory(MessageHandler.class, (MethodInterceptor) (invocation) -> {
			if (!invocation.getMethod().getName().equals("onMessage")) {
				return invocation.getMethod().invoke(handler, invocation.getArguments());
			}
			ByteBuffer message = (ByteBuffer) invocation.getArguments()[1];
			ByteBuffer longer = ByteBuffer.allocate(message.remaining() + 1).put(message).put((byte) '!').flip();
			handler.onMessage((Connection) invocation.getArguments()[0], longer);
			return null;
		});
		return (MessageHandler) factory.getProxy();
	}

	/**
	 * Starts no server: the default port may be in use on the machine that runs the test.
	 */
	private static BeanPostProcessor startNothing() {
		return new BeanPostProcessor() {

			@Override
			public Object postProcessAfterInitialization(Object bean, String beanName) {
				if (bean instanceof ServerLifecycle) {
					return new Object();
				}
				return bean;
			}

		};
	}

	@Configuration(proxyBeanMethods = false)
	static class EchoBeanMethod {

		@Bean
		@LfHandler
		EchoHandler echo() {
			return new EchoHandler();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ThreeHandlers {

		@Bean
		@LfHandler
		MessageHandler echo() {
			return new EchoHandler();
		}

		@Bean
		@LfHandler(server = "orders")
		MessageHandler orders() {
			return new EchoHandler("orders ");
		}

		@Bean
		@LfHandler("quotes")
		MessageHandler quotes() {
			return (connection, message) -> new EchoHandler("quotes ").onMessage(connection, message);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ScopedHandler {

		@Bean
		@LfHandler("orders")
		@Scope(scopeName = ConfigurableBeanFactory.SCOPE_PROTOTYPE, proxyMode = ScopedProxyMode.INTERFACES)
		MessageHandler scoped() {
			return new EchoHandler();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class PoolBeans {

		@Bean
		LeaderFollowersPool myPool() {
			return LeaderFollowersPool.builder().threads(1, 2).build();
		}

		@Bean
		LeaderFollowersPool otherPool() {
			return LeaderFollowersPool.builder().name("other").build();
		}

	}

	/** An operator would believe that a limit applies. */
	@Test
	@ExtendWith(OutputCaptureExtension.class)
	void propertiesOfAServerThatIsABeanAreNotUsed(CapturedOutput output) {
		this.contextRunner.withUserConfiguration(ServerBean.class)
			.withPropertyValues("lf.server.idle-timeout=1m", "lf.server.per-client.max-connections=1")
			.run((context) -> assertThat(context).hasNotFailed());
		assertThat(output).contains(
				"The server 'default' is a bean, which does not use these properties: lf.server.idle-timeout, lf.server.per-client.max-connections");
	}

	@Configuration(proxyBeanMethods = false)
	static class ServerBean {

		@Bean
		TcpServer myServer(LeaderFollowersPools pools) {
			return TcpServer.builder(pools.get("default"))
				.port(0)
				.framing(Framing.line())
				.handler(new EchoHandler("mine "))
				.build();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import(ServerBean.class)
	static class StartedServerBean {

		@Bean
		BeanPostProcessor starter() {
			return new BeanPostProcessor() {

				@Override
				public Object postProcessAfterInitialization(Object bean, String beanName) {
					if (bean instanceof TcpServer server) {
						server.start();
					}
					return bean;
				}

			};
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class OwnInfrastructure {

		@Bean
		LeaderFollowersPools myPools() {
			return new LeaderFollowersPools(List.of(), Map.of());
		}

		@Bean
		LeaderFollowersServers myServers() {
			return LeaderFollowersServers.builder().build();
		}

		@Bean
		SmartLifecycle leaderFollowersServerStartStopLifecycle(LeaderFollowersServers servers,
				ApplicationContext context) {
			return ServerLifecycle.startStop(servers, context);
		}

		@Bean
		SmartLifecycle leaderFollowersServerGracefulShutdownLifecycle(LeaderFollowersServers servers) {
			return ServerLifecycle.gracefulShutdown(servers);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class HandlerWithResource {

		@Bean
		Resource resource() {
			return new Resource();
		}

		@Bean
		@LfHandler
		MessageHandler echo(Resource resource) {
			return new EchoHandler();
		}

	}

	static class Resource implements AutoCloseable {

		private @Nullable LeaderFollowersPool pool;

		private PoolSnapshot.@Nullable State poolStateWhenClosed;

		@Override
		public void close() {
			this.poolStateWhenClosed = (this.pool != null) ? this.pool.snapshot().state() : null;
		}

	}

	@Test
	void childContextHasItsOwnServers() {
		this.contextRunner.withUserConfiguration(EchoBeanMethod.class)
			.withPropertyValues("lf.server.port=0")
			.run((parent) -> new ApplicationContextRunner()
				.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
				.withParent(parent)
				.withBean("childEcho", ChildEcho.class)
				.withPropertyValues("lf.servers.child.port=0")
				.run((child) -> {
					assertThat(child).hasNotFailed();
					assertThat(child.getBean(LeaderFollowersServers.class).names()).containsExactly("child");
					assertThat(child.getBean(LeaderFollowersServers.class).get("child").port()).isPositive();
				}));
	}

	@Test
	void childContextWithoutHandlersLeavesTheServersToItsParent() {
		this.contextRunner.withUserConfiguration(EchoBeanMethod.class)
			.withPropertyValues("lf.server.port=0")
			.run((parent) -> new ApplicationContextRunner()
				.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
				.withParent(parent)
				.withPropertyValues("lf.server.port=0")
				.run((child) -> {
					assertThat(child).hasNotFailed();
					assertThat(child.getBean(LeaderFollowersServers.class).names()).isEmpty();
				}));
	}

	@LfHandler(server = "child")
	static class ChildEcho extends EchoHandler {

	}

}
