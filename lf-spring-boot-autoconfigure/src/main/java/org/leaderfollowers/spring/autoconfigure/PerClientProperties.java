package org.leaderfollowers.spring.autoconfigure;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.limit.ClientLimits;

import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Properties of the limits that apply to each client of a server.
 *
 * @param maxConnections Maximum number of open connections of a client. Further ones are
 * rejected. No limit by default.
 * @param connectionsPerSecond Maximum number of new connections of a client in a second.
 * Further ones are rejected. No limit by default.
 * @param messagesPerSecond Maximum number of messages of a client in a second. No limit
 * by default.
 * @param bytesPerSecond Maximum size of the messages of a client in a second, framing
 * excluded. No limit by default.
 * @param failedLoginsPerMinute Maximum number of failed logins of a client in a minute.
 * When it is reached, new connections and logins are refused until the minute is over. No
 * limit by default.
 * @param action What happens to a connection whose client sends too many messages or
 * bytes.
 * @param maxClients Maximum number of clients that are counted one by one. Further ones
 * are counted together with the other clients of their network.
 * @param ipv4PrefixLength How many bits of an IPv4 address identify a client.
 * @param ipv6PrefixLength How many bits of an IPv6 address identify a client.
 */
public record PerClientProperties(@Nullable Long maxConnections, @Nullable Long connectionsPerSecond,
		@Nullable Long messagesPerSecond, @Nullable DataSize bytesPerSecond, @Nullable Long failedLoginsPerMinute,
		@DefaultValue("suspend") ClientLimits.Action action, @DefaultValue("10000") int maxClients,
		@DefaultValue("32") int ipv4PrefixLength, @DefaultValue("64") int ipv6PrefixLength) {
}
