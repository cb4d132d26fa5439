package org.leaderfollowers.docs.metrics;

import java.time.Duration;
import java.util.List;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.data.SpanData;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Framing;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.Exchange;
import org.leaderfollowers.spring.annotation.LfClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.handler.ClientProxies;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.test.client.LfTestPeer;
import org.leaderfollowers.spring.test.client.TcpTestClient;
import org.slf4j.LoggerFactory;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Messages in traces, with the tracer that Boot configures and an exporter that keeps the
 * spans in memory.
 */
@SpringBootTest(webEnvironment = WebEnvironment.NONE, properties = { "lf.server.port=0", "lf.servers.stock.port=0",
		"management.tracing.sampling.probability=1", "management.opentelemetry.tracing.export.schedule-delay=10ms" })
class TracingTests {

	private final ListAppender<ILoggingEvent> log = new ListAppender<>();

	private static final LfTestPeer supplier = LfTestPeer.listen(Framing.line()).answer((request) -> "ordered");

	@Autowired
	private InMemorySpanExporter spans;

	@Autowired
	private LeaderFollowersServers servers;

	@Autowired
	private MeterRegistry meters;

	@DynamicPropertySource
	static void supplier(DynamicPropertyRegistry registry) {
		registry.add("lf.clients.supplier.addresses", supplier::address);
		registry.add("lf.clients.supplier.correlation.type", () -> "in-order");
	}

	@AfterAll
	static void closeSupplier() {
		supplier.close();
	}

	@BeforeEach
	void listenToTheLog() {
		this.spans.reset();
		this.log.start();
		((Logger) LoggerFactory.getLogger(StockHandler.class)).addAppender(this.log);
	}

	@AfterEach
	void listenNoMore() {
		((Logger) LoggerFactory.getLogger(StockHandler.class)).detachAppender(this.log);
	}

	@Test
	void messageIsASpanAndWhatItsHandlerDoesIsAChild() {
		ask("tea", "17 in stock");
		SpanData message = span("stock message");
		assertThat(message.getKind()).isEqualTo(SpanKind.SERVER);
		assertThat(message.getStatus().getStatusCode()).isEqualTo(StatusCode.UNSET);
		assertThat(message.getParentSpanContext().isValid()).isFalse();
		assertThat(attribute(message, "server")).isEqualTo("stock");
		assertThat(attribute(message, "handler")).isEqualTo("stockHandler");
		assertThat(attribute(message, "outcome")).isEqualTo("success");
		assertThat(attribute(message, "connection")).matches("\\d+");
		assertThat(attribute(message, "branch")).isEqualTo("north");
		assertThat(message.getAttributes().asMap().values()).noneMatch((value) -> value.toString().contains("127.0"));
		SpanData count = span("stock.count");
		assertThat(count.getTraceId()).isEqualTo(message.getTraceId());
		assertThat(count.getParentSpanId()).isEqualTo(message.getSpanId());
	}

	@Test
	void logLinesOfTheHandlerHaveTheTrace() {
		ask("tea", "17 in stock");
		SpanData message = span("stock message");
		assertThat(this.log.list).singleElement()
			.satisfies((line) -> assertThat(line.getMDCPropertyMap()).containsEntry("traceId", message.getTraceId())
				.containsEntry("spanId", message.getSpanId()));
	}

	@Test
	void failureIsAnErrorOfItsSpan() {
		try (TcpTestClient client = TcpTestClient.connect(this.servers.get("stock").port())) {
			client.send("unknown");
			SpanData message = span("stock message");
			assertThat(message.getStatus().getStatusCode()).isEqualTo(StatusCode.ERROR);
			assertThat(attribute(message, "outcome")).isEqualTo("error");
			assertThat(message.getEvents()).anySatisfy((event) -> assertThat(event.getName()).isEqualTo("exception"));
		}
	}

	@Test
	void eachMessageIsATraceOfItsOwn() {
		ask("tea", "17 in stock");
		ask("tea", "17 in stock");
		Awaitility.await()
			.atMost(Duration.ofSeconds(60))
			.untilAsserted(() -> assertThat(spans("stock message")).hasSize(2)
				.extracting(SpanData::getTraceId)
				.doesNotHaveDuplicates());
	}

	@Test
	void exchangeIsASpanOfAClientAndAChildOfWhatTheCallerDoes(@Autowired ClientProxies proxies,
			@Autowired ObservationRegistry observations) {
		// Local, so that it is not found in the packages of other applications.
		@LfClient("supplier")
		interface Supplier {

			@Exchange
			String order(String article);

		}
		Supplier supplier = proxies.create(Supplier.class);
		String reply = Observation.createNotStarted("stock.order", observations).observe(() -> supplier.order("tea"));
		assertThat(reply).isEqualTo("ordered");
		SpanData exchange = span("Supplier.order");
		assertThat(exchange.getKind()).isEqualTo(SpanKind.CLIENT);
		assertThat(exchange.getParentSpanId()).isEqualTo(span("stock.order").getSpanId());
		assertThat(attribute(exchange, "client")).isEqualTo("supplier");
		assertThat(attribute(exchange, "outcome")).isEqualTo("replied");
		assertThat(exchange.getAttributes().asMap().values()).noneMatch((value) -> value.toString().contains("tea"));
	}

	@Test
	void metersAreMadeOfTheSameObservations() {
		ask("tea", "17 in stock");
		// Takes the span, so that no other test finds it.
		span("stock message");
		Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
			assertThat(this.meters.get("lf.messages")
				.tags("server", "stock", "handler", "stockHandler", "outcome", "success", "branch", "north")
				.timer()
				.count()).isPositive();
			assertThat(this.meters.get("lf.messages.active").longTaskTimer().activeTasks()).isZero();
		});
	}

	private void ask(String question, String answer) {
		try (TcpTestClient client = TcpTestClient.connect(this.servers.get("stock").port())) {
			client.send(question);
			assertThat(client).receives(answer);
		}
	}

	private SpanData span(String name) {
		return Awaitility.await()
			.atMost(Duration.ofSeconds(60))
			.until(() -> spans(name), (found) -> !found.isEmpty())
			.get(0);
	}

	private List<SpanData> spans(String name) {
		return this.spans.getFinishedSpanItems().stream().filter((span) -> span.getName().equals(name)).toList();
	}

	private static String attribute(SpanData span, String key) {
		String value = span.getAttributes().get(AttributeKey.stringKey(key));
		return (value != null) ? value : "";
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Application {

		@Bean
		@LfHandler
		MessageHandler echo() {
			return (connection, message) -> connection.send(message);
		}

		@Bean
		StockHandler stockHandler(Warehouse warehouse, ObservationRegistry observations) {
			return new StockHandler(warehouse, observations);
		}

		@Bean
		InMemorySpanExporter spanExporter() {
			return InMemorySpanExporter.create();
		}

		@Bean
		BranchConvention convention() {
			return new BranchConvention("north");
		}

		@Bean
		Warehouse warehouse() {
			return (article) -> {
				if (!article.equals("tea")) {
					throw new IllegalArgumentException("No such article");
				}
				return 17;
			};
		}

	}

}
