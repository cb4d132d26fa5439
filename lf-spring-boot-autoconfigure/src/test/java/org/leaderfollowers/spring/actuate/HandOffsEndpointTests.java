package org.leaderfollowers.spring.actuate;

import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.leaderfollowers.HandOff;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.PromotionKind;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.server.LeaderFollowersPools;

import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.json.JsonParserFactory;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link HandOffsEndpoint}, over HTTP.
 */
@ExtendWith(OutputCaptureExtension.class)
class HandOffsEndpointTests {

	private final OperatedApplication application = OperatedApplication.run("--lf.pool.promotion.policy=eager");

	@AfterEach
	void close() {
		this.application.close();
	}

	@Test
	void showsWhoWentOffToProcessWhat() throws Exception {
		Instant before = Instant.now();
		awaitHandOffs(3);
		Map<String, Object> body = handOffs("");
		assertThat(body).containsOnlyKeys("time", "handOffs");
		List<Map<String, Object>> handOffs = list(body);
		assertThat(handOffs).extracting((handOff) -> ((Number) handOff.get("number")).longValue())
			.isSorted()
			.doesNotHaveDuplicates();
		assertThat(handOffs).anySatisfy((handOff) -> {
			assertThat(handOff).containsEntry("pool", "default")
				.containsEntry("handleSet", "default-0")
				.containsEntry("server", "default")
				.containsEntry("handler", "gate");
			// Who is faster: the follower that is woken, or the thread that woke it.
			assertThat((String) handOff.get("kind")).isIn("EAGER", "RECLAIMED");
			assertThat((String) handOff.get("from")).startsWith("lf-default-");
			assertThat((String) handOff.get("to")).startsWith("lf-default-");
			assertThat((String) handOff.get("handle")).isEqualTo("Connection 1 of server 'default'");
			assertThat(Instant.parse((String) handOff.get("at"))).isBetween(before.minusSeconds(1), Instant.now());
			assertThat(Duration.parse((String) handOff.get("vacancy"))).isGreaterThanOrEqualTo(Duration.ZERO);
		});
	}

	@Test
	void readingForgetsNothing() throws Exception {
		awaitHandOffs(3);
		int seen = list(handOffs("")).size();
		assertThat(list(handOffs(""))).hasSizeGreaterThanOrEqualTo(seen);
	}

	@Test
	void showsWhatIsNew() throws Exception {
		awaitHandOffs(5);
		List<Map<String, Object>> all = list(handOffs(""));
		Object known = all.get(all.size() - 3).get("number");
		assertThat(list(handOffs("?pool=default&after=" + known))).containsAll(all.subList(all.size() - 2, all.size()))
			.noneMatch((handOff) -> handOff.get("number").equals(known));
		assertThat(list(handOffs("?limit=2"))).hasSize(2);
		assertThat(list(handOffs("?pool=spare"))).isEmpty();
	}

	@Test
	void drainingForgets(CapturedOutput output) throws Exception {
		awaitHandOffs(3);
		int seen = list(handOffs("")).size();
		HttpResponse<String> response = this.application.delete("/actuator/lfhandoffs?pool=default");
		assertThat(response.statusCode()).isEqualTo(200);
		List<Map<String, Object>> drained = list(JsonParserFactory.getJsonParser().parseMap(response.body()));
		assertThat(drained).hasSizeGreaterThanOrEqualTo(seen);
		Object last = drained.get(drained.size() - 1).get("number");
		awaitHandOffs(1);
		assertThat(list(handOffs(""))).isNotEmpty()
			.allMatch((handOff) -> ((Number) handOff.get("number")).longValue() > ((Number) last).longValue());
		assertThat(this.application.events().audit()).singleElement().satisfies((event) -> {
			assertThat(event.getType()).isEqualTo("LF_HAND_OFFS_DRAINED");
			assertThat(event.getData())
				.isEqualTo(Map.of("pools", "default", "handOffs", String.valueOf(drained.size())));
		});
		assertThat(output)
			.containsOnlyOnce("%d hand-offs of default are forgotten through Actuator".formatted(drained.size()));
	}

	@Test
	void handOffsOfSeveralPoolsAreInTheirOrderAndTheLatestAreShown() {
		LeaderFollowersPool one = mock(LeaderFollowersPool.class);
		LeaderFollowersPool two = mock(LeaderFollowersPool.class);
		given(one.name()).willReturn("one");
		given(two.name()).willReturn("two");
		given(one.handOffs()).willReturn(LongStream.range(0, 501).mapToObj((i) -> handOff(2 * i)).toList());
		given(two.handOffs()).willReturn(List.of(handOff(-1), handOff(999)));
		HandOffsEndpoint endpoint = new HandOffsEndpoint(new LeaderFollowersPools(List.of(one, two), Map.of()),
				(event) -> {
				});
		List<HandOffsEndpoint.HandOffDescriptor> latest = endpoint.handOffs(null, null, null).handOffs();
		assertThat(latest).hasSize(500).extracting(HandOffsEndpoint.HandOffDescriptor::number).isSorted();
		assertThat(latest).last().extracting(HandOffsEndpoint.HandOffDescriptor::number).isEqualTo(1000L);
		assertThat(endpoint.handOffs("two", "-1", null).handOffs())
			.extracting(HandOffsEndpoint.HandOffDescriptor::number)
			.containsExactly(999L);
	}

	private static HandOff handOff(long number) {
		return new HandOff(number, Instant.EPOCH.plusSeconds(number), "set", null, "to", PromotionKind.EAGER,
				Duration.ZERO, null, null, null);
	}

	@Test
	void everyDetailOfAHandOffIsShownAsWhatItIs() {
		Duration vacancy = Duration.ofNanos(2);
		assertThat(HandOffsEndpoint.HandOffDescriptor.of("pool",
				new HandOff(1, Instant.EPOCH, "set", "from", "to", PromotionKind.EAGER, vacancy, "server", "handle",
						"handler")))
			.isEqualTo(new HandOffsEndpoint.HandOffDescriptor("pool", 1, Instant.EPOCH, "set", "from", "to",
					PromotionKind.EAGER, vacancy, "server", "handle", "handler"));
	}

	@Test
	void auditTellsWhoForgetsHandOffs() throws Exception {
		awaitHandOffs(1);
		SecurityContext caller = mock(SecurityContext.class);
		given(caller.getPrincipal()).willReturn(() -> "ada");
		this.application.context().getBean(HandOffsEndpointWebExtension.class).drainHandOffs(caller, null);
		assertThat(this.application.events().audit()).singleElement().satisfies((event) -> {
			assertThat(event.getPrincipal()).isEqualTo("ada");
			assertThat(event.getData()).containsEntry("pools", "default, spare");
		});
	}

	@Test
	void nothingToForgetIsNoWrite(CapturedOutput output) throws Exception {
		HttpResponse<String> response = this.application.delete("/actuator/lfhandoffs?pool=spare");
		assertThat(response.statusCode()).isEqualTo(200);
		assertThat(list(JsonParserFactory.getJsonParser().parseMap(response.body()))).isEmpty();
		assertThat(this.application.events().audit()).isEmpty();
		assertThat(output).doesNotContain("are forgotten");
	}

	@Test
	void nothingIsForgottenWithoutAccess() throws Exception {
		try (OperatedApplication other = OperatedApplication.run("--management.endpoint.lfhandoffs.access=")) {
			assertThat(other.get("/actuator/lfhandoffs").statusCode()).isEqualTo(200);
			assertThat(other.delete("/actuator/lfhandoffs").statusCode()).isEqualTo(405);
			assertThat(other.events().audit()).isEmpty();
		}
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
			pool=x       | 404 | There is no such pool, only: default, spare
			after=first  | 400 | 'after' must be a whole number, but is 'first'
			limit=0      | 400 | 'limit' must be from 1 to 10000, but is '0'
			limit=10001  | 400 | 'limit' must be from 1 to 10000, but is '10001'
			limit=1&limit=2 | 400 | 'limit' must be a whole number, but is '1,2'
			""")
	void wrongInputIsRefusedWithTheReason(String query, int status, String reason) throws Exception {
		HttpResponse<String> response = this.application.get("/actuator/lfhandoffs?" + query);
		assertThat(response.statusCode()).isEqualTo(status);
		assertThat(response.body()).isEqualTo("{\"reason\":\"" + reason + "\"}");
	}

	@Test
	void unknownPoolIsNotDrained() throws Exception {
		assertThat(this.application.delete("/actuator/lfhandoffs?pool=x").statusCode()).isEqualTo(404);
		assertThat(this.application.events().audit()).isEmpty();
	}

	private void awaitHandOffs(int atLeast) throws Exception {
		int before = list(handOffs("?pool=default")).size();
		try (LineClient client = new LineClient(this.application.port())) {
			await().until(() -> {
				assertThat(client.ask("hello")).isEqualTo("hello");
				return list(handOffs("?pool=default")).size() >= before + atLeast;
			});
		}
	}

	private Map<String, Object> handOffs(String query) throws Exception {
		HttpResponse<String> response = this.application.get("/actuator/lfhandoffs" + query);
		assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
		return JsonParserFactory.getJsonParser().parseMap(response.body());
	}

	@SuppressWarnings("unchecked")
	private static List<Map<String, Object>> list(Map<String, Object> body) {
		return (List<Map<String, Object>>) body.get("handOffs");
	}

}
