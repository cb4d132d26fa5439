package org.leaderfollowers.spring.actuate;

import java.lang.reflect.RecordComponent;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.ClientSnapshot;
import org.leaderfollowers.ConnectionSnapshot;
import org.leaderfollowers.HandOff;
import org.leaderfollowers.LatencySnapshot;
import org.leaderfollowers.PoolAlarm;
import org.leaderfollowers.PoolSnapshot.EventSourceSnapshot;
import org.leaderfollowers.PoolSnapshot.HandleSetSnapshot;
import org.leaderfollowers.PoolSnapshot.ReliefSnapshot;
import org.leaderfollowers.PoolSnapshot.ThreadSnapshot;
import org.leaderfollowers.PoolSnapshot.UnfoldingChange;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.PromotionKind;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.TransportType;
import org.leaderfollowers.WireLog;
import org.leaderfollowers.spring.DistinctAnswers;
import org.leaderfollowers.spring.actuate.ConnectionsEndpoint.ConnectionDescriptor;
import org.leaderfollowers.spring.actuate.ConnectionsEndpoint.WireLogDescriptor;
import org.leaderfollowers.spring.actuate.HandOffsEndpoint.HandOffDescriptor;
import org.leaderfollowers.spring.actuate.SessionsEndpoint.SessionDescriptor;
import org.leaderfollowers.spring.limit.ClientLimiter;
import org.leaderfollowers.spring.limit.ClientLimiter.Offender;
import org.leaderfollowers.spring.limit.ClientLimits;
import org.leaderfollowers.spring.limit.ClientLimits.Action;
import org.leaderfollowers.spring.limit.ClientLimits.Limit;
import org.leaderfollowers.spring.session.SessionEntry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.entry;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/** Each value that an endpoint shows has the name of what it is. */
class DescriptorTests {

	/** The components of a record and of the records in it, by their paths. */
	private static Map<String, @Nullable Object> flat(Record shown) throws Exception {
		Map<String, @Nullable Object> values = new LinkedHashMap<>();
		flatten("", shown, values);
		return values;
	}

	private static void flatten(String path, @Nullable Object value, Map<String, @Nullable Object> values)
			throws Exception {
		if (value instanceof Record shown && shown.getClass().getPackage() == DescriptorTests.class.getPackage()) {
			for (RecordComponent component : shown.getClass().getRecordComponents()) {
				flatten((path.isEmpty() ? "" : path + ".") + component.getName(), component.getAccessor().invoke(shown),
						values);
			}
		}
		else if (value instanceof List<?> list) {
			for (int i = 0; i < list.size(); i++) {
				flatten(path + "[" + i + "]", list.get(i), values);
			}
		}
		else {
			values.put(path, value);
		}
	}

	@Test
	void server() throws Exception {
		ServerSnapshot now = mock(ServerSnapshot.class, new DistinctAnswers());
		given(now.paused()).willReturn(false);
		Map<String, @Nullable Object> shown = flat(ServerDescriptor.of(now));
		assertThat(shown).contains(entry("state", now.state()), entry("startedAt", now.startedAt()),
				entry("listeningFailure", now.listeningFailure()), entry("address", now.address()),
				entry("port", now.port()), entry("framing", now.framing()), entry("handler", now.handler()),
				entry("pool", now.pool()), entry("connections.open", now.openConnections()),
				entry("connections.max", now.maxConnections()),
				entry("connections.accepted", now.acceptedConnections()),
				entry("connections.rejected", now.rejectedConnections()),
				entry("connections.closed", now.closedConnections()), entry("bytes.received", now.receivedBytes()),
				entry("bytes.sent", now.sentBytes()), entry("messages.received", now.receivedMessages()),
				entry("exchanges", now.exchanges()), entry("listening", true), entry("paused", false),
				entry("connections.acceptingSuspended", true), entry("datagrams.receivingSuspended", true));
		ServerSnapshot.Datagrams datagrams = Objects.requireNonNull(now.datagrams());
		assertThat(shown).contains(entry("datagrams.inFlight", datagrams.inFlight()),
				entry("datagrams.maxInFlight", datagrams.maxInFlight()),
				entry("datagrams.limitReached", datagrams.limitReached()),
				entry("datagrams.truncated", datagrams.truncated()), entry("datagrams.rejected", datagrams.rejected()),
				entry("datagrams.receiveFailures", datagrams.receiveFailures()),
				entry("datagrams.replies.sent", datagrams.sentReplies()),
				entry("datagrams.replies.refused", datagrams.refusedReplies()),
				entry("datagrams.replies.dropped", datagrams.droppedReplies()),
				entry("datagrams.replies.limited", datagrams.limitedReplies()));
		ServerSnapshot.Tls tls = Objects.requireNonNull(now.tls());
		assertThat(shown).contains(entry("tls.generation", tls.generation()),
				entry("tls.connections", tls.openConnections()),
				entry("tls.handshakes.completed", tls.completedHandshakes()),
				entry("tls.handshakes.failed", tls.failedHandshakes()),
				entry("tls.handshakes.pending", tls.pendingHandshakes()),
				entry("tls.handshakes.limitReached", tls.limitReached()));
		ServerSnapshot.Evacuation evacuation = Objects.requireNonNull(now.evacuation());
		assertThat(shown).contains(entry("evacuation.rate", evacuation.rate().toString()),
				entry("evacuation.left", evacuation.left()));
		assertLatency(shown, "handling", now.handling());
		given(now.paused()).willReturn(true);
		given(now.port()).willReturn(-1);
		given(now.transport()).willReturn(TransportType.UDP);
		assertThat(flat(ServerDescriptor.of(now))).contains(entry("paused", true), entry("port", null),
				entry("connections", null));
	}

	@Test
	void clientLimits() throws Exception {
		Offender offender = new Offender("192.0.2.1", Limit.MAX_CONNECTIONS, 1, Instant.EPOCH,
				Instant.ofEpochSecond(2));
		ClientLimiter limiter = mock();
		given(limiter.snapshot()).willReturn(new ClientLimiter.Snapshot(
				new ClientLimits(Map.of(Limit.MAX_CONNECTIONS, 3L), Action.CLOSE), 4, 5, List.of(offender)));
		assertThat(flat(ClientLimitsDescriptor.of(limiter, true))).containsOnly(
				entry("limits", Map.of("max-connections", 3L)), entry("action", Action.CLOSE), entry("clients", 4),
				entry("aggregates", 5), entry("offenders[0].client", "192.0.2.1"),
				entry("offenders[0].limit", "max-connections"), entry("offenders[0].count", 1L),
				entry("offenders[0].since", offender.since()), entry("offenders[0].latest", offender.latest()));
		assertThat(flat(ClientLimitsDescriptor.of(limiter, false))).containsEntry("offenders[0].client", null);
	}

	private static void assertLatency(Map<String, @Nullable Object> shown, String path, LatencySnapshot latency) {
		assertThat(shown).contains(entry(path + ".count", latency.count()), entry(path + ".total", latency.total()),
				entry(path + ".p50", latency.percentile(50)), entry(path + ".p90", latency.percentile(90)),
				entry(path + ".p99", latency.percentile(99)), entry(path + ".p999", latency.percentile(99.9)),
				entry(path + ".max", latency.max()), entry(path + ".buckets[1].upTo", latency.buckets().get(1).upTo()),
				entry(path + ".buckets[1].count", latency.buckets().get(1).count()));
	}

	@Test
	void pool() throws Exception {
		PoolSnapshot now = mock(PoolSnapshot.class, new DistinctAnswers());
		Map<String, @Nullable Object> shown = flat(PoolDescriptor.of(now));
		assertThat(shown).contains(entry("time", now.time()), entry("configuration.threads.min", now.minThreads()),
				entry("configuration.threads.max", now.maxThreads()),
				entry("configuration.threads.keepAlive", now.keepAlive()),
				entry("configuration.handleSets", now.unfolding().most()),
				entry("configuration.parallelism", now.parallelism()),
				entry("configuration.maxBufferedBytes", now.maxBufferedBytes()),
				entry("configuration.promotion.lease", now.promotionLease()),
				entry("threadsStarted", now.threadsStarted()), entry("threadStartFailures", now.threadStartFailures()),
				entry("unfolding.inUse", now.unfolding().inUse()),
				entry("unfolding.changes", now.unfolding().changes()), entry("promotions", now.promotions()),
				entry("handOffs.count", now.promotions().values().stream().mapToLong(Long::longValue).sum()),
				entry("handOffs.totalTime", Duration.ofNanos(now.handOffNanos())),
				entry("handOffs.wakeUps", now.wakeUps()), entry("handOffs.wastedWakeUps", now.wastedWakeUps()),
				entry("leaderless.periods", now.leaderlessPeriods()),
				entry("leaderless.totalTime", Duration.ofNanos(now.leaderlessNanos())),
				entry("leaderless.starvations", now.starvations()), entry("leaderless.starvedFor", now.starvedFor()),
				entry("bufferedBytes", now.bufferedBytes()), entry("nestedUpcalls", now.nestedUpcalls()));
		assertLatency(shown, "handOffs.latency", now.vacancies());
		UnfoldingChange unfolded = Objects.requireNonNull(now.unfolding().latest());
		assertThat(shown).contains(entry("unfolding.latest.time", unfolded.time()),
				entry("unfolding.latest.from", unfolded.from()), entry("unfolding.latest.to", unfolded.to()),
				entry("unfolding.latest.reason", unfolded.reason()));
		assertThread(shown, now.threads().get(1), now.time());
		assertHandleSet(shown, now.handleSets().get(1));
		EventSourceSnapshot source = now.eventSources().get(1);
		assertThat(shown).contains(entry("eventSources[1].name", source.name()),
				entry("eventSources[1].leader", source.leader()),
				entry("eventSources[1].vacantFor", source.vacantFor()),
				entry("eventSources[1].handling", source.handling()), entry("eventSources[1].events", source.events()),
				entry("eventSources[1].handlerFailures", source.handlerFailures()),
				entry("eventSources[1].sourceFailures", source.sourceFailures()));
		PoolAlarm alarm = now.alarms().get(1);
		assertThat(shown).contains(entry("alarms[1].thread", alarm.thread()),
				entry("alarms[1].handleSet", alarm.handleSet()), entry("alarms[1].server", alarm.server()),
				entry("alarms[1].handle", alarm.handle()), entry("alarms[1].handler", alarm.handler()),
				entry("alarms[1].since", now.time().minus(alarm.duration())));
		assertThat(shown).contains(entry("handleSets[1].inUse", true), entry("eventSources[1].inUse", true));
		given(now.handleSets().get(1).inUse()).willReturn(false);
		assertThat(flat(PoolDescriptor.of(now))).contains(entry("handleSets[1].inUse", false),
				entry("eventSources[1].inUse", true));
		given(now.handleSets().get(1).inUse()).willReturn(true);
		given(source.inUse()).willReturn(false);
		assertThat(flat(PoolDescriptor.of(now))).contains(entry("handleSets[1].inUse", true),
				entry("eventSources[1].inUse", false));
	}

	private static void assertThread(Map<String, @Nullable Object> shown, ThreadSnapshot thread, Instant time) {
		assertThat(shown).contains(entry("threads[1].name", thread.name()),
				entry("threads[1].since", time.minus(thread.since())), entry("threads[1].server", thread.server()),
				entry("threads[1].handle", thread.handle()), entry("threads[1].handler", thread.handler()),
				entry("threads[1].waitsFor", thread.waitsFor()),
				entry("threads[1].waitingSince", time.minus(thread.waitingFor())));
	}

	private static void assertHandleSet(Map<String, @Nullable Object> shown, HandleSetSnapshot set) {
		assertThat(shown).contains(entry("handleSets[1].name", set.name()), entry("handleSets[1].leader", set.leader()),
				entry("handleSets[1].vacantFor", set.vacantFor()), entry("handleSets[1].ready", set.ready()),
				entry("handleSets[1].handles.registered", set.handles()),
				entry("handleSets[1].handles.active", set.active()),
				entry("handleSets[1].handles.deactivated", set.deactivated()),
				entry("handleSets[1].events", set.events()),
				entry("handleSets[1].sharing.threads", set.sharing().threads()),
				entry("handleSets[1].sharing.events", set.sharing().events()),
				entry("handleSets[1].sharing.reliefs", set.sharing().reliefs()));
		ReliefSnapshot relief = Objects.requireNonNull(set.sharing().latest());
		assertThat(shown).contains(entry("handleSets[1].sharing.latest.time", relief.time()),
				entry("handleSets[1].sharing.latest.ready", relief.ready()),
				entry("handleSets[1].sharing.latest.work", relief.work()),
				entry("handleSets[1].sharing.latest.wakeUp", relief.wakeUp()),
				entry("handleSets[1].sharing.latest.reason", relief.reason()));
	}

	@Test
	void client() throws Exception {
		ClientSnapshot now = mock(ClientSnapshot.class, new DistinctAnswers());
		ClientSnapshot.Address address = now.addresses().get(1);
		assertThat(flat(ClientsEndpoint.ClientDescriptor.of(now, true))).contains(entry("state", now.state()),
				entry("pool", now.pool()), entry("optional", true), entry("addresses[1].address", address.address()),
				entry("addresses[1].reachable", true), entry("addresses[1].connections", address.connections()),
				entry("addresses[1].failures", address.failures()), entry("addresses[1].failure", address.failure()),
				entry("connections.max", now.connections()), entry("connections.established", now.connected()),
				entry("connections.connects", now.connects()), entry("connections.disconnects", now.disconnects()),
				entry("connections.failedConnects", now.failedConnects()), entry("exchanges.inFlight", now.inFlight()),
				entry("exchanges.waiting", now.waiting()), entry("exchanges.ended", now.exchanges()),
				entry("exchanges.lateReplies", now.lateReplies()),
				entry("exchanges.unexpectedMessages", now.unexpectedMessages()),
				entry("receivedBytes", now.receivedBytes()), entry("sentBytes", now.sentBytes()));
	}

	@Test
	void connection() throws Exception {
		ConnectionSnapshot now = new ConnectionSnapshot(1, "meter", "orders", ConnectionSnapshot.State.SUSPENDED,
				new InetSocketAddress(InetAddress.getByName("2001:db8::1"), 2), Duration.ofSeconds(3),
				Duration.ofSeconds(4), 5, 6, 7, 8, 9, 10, "main");
		assertThat(flat(ConnectionDescriptor.of(now, true))).containsOnly(entry("id", 1L), entry("name", "meter"),
				entry("server", "orders"), entry("state", now.state()),
				entry("remoteAddress", "[2001:db8:0:0:0:0:0:1]:2"), entry("age", now.age()), entry("idle", now.idle()),
				entry("messages", 5L), entry("receivedBytes", 6L), entry("sentBytes", 7L), entry("pendingBytes", 8L),
				entry("tlsGeneration", 9), entry("inFlight", 10), entry("pool", "main"));
		assertThat(flat(ConnectionDescriptor.of(now, false))).contains(entry("name", null),
				entry("remoteAddress", null));
	}

	@Test
	void wireLog() throws Exception {
		TcpServer server = mock(TcpServer.class, new DistinctAnswers());
		WireLog.Snapshot now = new WireLog.Snapshot(new WireLog.Options(1, Duration.ofMinutes(1), true, 1, 1),
				Instant.EPOCH, 2, 3);
		assertThat(flat(WireLogDescriptor.of(server, now))).containsOnly(entry("server", server.name()),
				entry("connection", 1L), entry("until", now.until()), entry("payload", true), entry("segments", 2L),
				entry("omitted", 3L));
	}

	@Test
	void handOff() throws Exception {
		HandOff now = new HandOff(1, Instant.EPOCH, "set", "from", "to", PromotionKind.TAKEOVER, Duration.ofSeconds(2),
				"server", "handle", "handler");
		assertThat(flat(HandOffDescriptor.of("pool", now))).containsOnly(entry("pool", "pool"), entry("number", 1L),
				entry("at", now.at()), entry("handleSet", "set"), entry("from", "from"), entry("to", "to"),
				entry("kind", now.kind()), entry("vacancy", now.vacancy()), entry("server", "server"),
				entry("handle", "handle"), entry("handler", "handler"));
	}

	@Test
	void session() throws Exception {
		SessionEntry now = new SessionEntry("name", "node", "server", 1, Instant.ofEpochSecond(2), 3, Instant.EPOCH);
		assertThat(flat(SessionDescriptor.of(now))).containsOnly(entry("name", "name"), entry("node", "node"),
				entry("server", "server"), entry("since", now.since()), entry("epoch", 1L), entry("takeovers", 3));
	}

}
