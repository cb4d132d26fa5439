package org.leaderfollowers.spring.test;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.leaderfollowers.spring.autoconfigure.ClientProperties;
import org.leaderfollowers.spring.autoconfigure.LfProperties;
import org.leaderfollowers.spring.handler.ClientProxies.Exchanger;
import org.leaderfollowers.spring.handler.ClientProxies.Exchangers;
import org.leaderfollowers.spring.test.LfHandlerTest.ServerEnvironment;
import org.leaderfollowers.spring.test.client.LfTestPeer;

/**
 * The peers of the clients of an application, in memory. There is a bean of this type in
 * a {@link LfHandlerTest @LfHandlerTest} whose servers are
 * {@linkplain ServerEnvironment#IN_MEMORY in memory}: the requests of
 * {@link org.leaderfollowers.spring.annotation.LfClient @LfClient} interfaces reach these
 * peers instead of clients, which are not started:
 *
 * <pre>
 * &#064;Test
 * void relays(@Autowired LfTestPeers peers, @Autowired LfTestClients clients) {
 *     peers.get("ledger").answer((request) -&gt; "booked");
 *     ...
 * }
 * </pre>
 *
 * Tests that share an application context share its peers: {@link LfTestPeer#reset()
 * reset} them before each test.
 */
public final class LfTestPeers implements Exchangers {

	private final Map<String, LfTestPeer> peers = new ConcurrentHashMap<>();

	private final LfProperties properties;

	LfTestPeers(LfProperties properties) {
		this.properties = properties;
	}

	/**
	 * Returns the peer of a client.
	 * @param client the name of the client
	 * @return the peer, which does not answer requests until it is configured to
	 */
	public LfTestPeer get(String client) {
		return this.peers.computeIfAbsent(client, (name) -> {
			ClientProperties configured = this.properties.clients().get(name);
			return LfTestPeer.inMemory((configured != null) ? configured.charset() : StandardCharsets.UTF_8);
		});
	}

	@Override
	public Exchanger find(String client, Class<?> type) {
		return get(client).exchanger();
	}

}
