package org.leaderfollowers.spring.limit;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.leaderfollowers.spring.limit.ClientLimits.Action;
import org.leaderfollowers.spring.limit.ClientLimits.Limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/** Tests for {@link Client}, with a clock that only the test moves. */
class ClientTests {

	private final AtomicLong clock = new AtomicLong();

	private final Client client = new Client("10.0.0.1", 0, 1, this.clock::get);

	private static ClientLimits limits(Limit limit, long value) {
		return new ClientLimits(Map.of(limit, value), Action.SUSPEND);
	}

	private void pass(Duration time) {
		this.clock.addAndGet(time.toNanos());
	}

	@Test
	void aMessageAboveTheLimitTellsHowLongToWait() {
		ClientLimits limits = limits(Limit.MESSAGES_PER_SECOND, 10);
		for (int i = 0; i < 10; i++) {
			assertThat(this.client.take(limits, 1)).isZero();
		}
		assertThat(this.client.take(limits, 1)).isEqualTo(Duration.ofMillis(100).toNanos());
		assertThat(this.client.take(limits, 1)).isEqualTo(Duration.ofMillis(200).toNanos());
		pass(Duration.ofMillis(300));
		assertThat(this.client.take(limits, 1)).isZero();
	}

	@Test
	void aClientOwesWhatItHasUsedTooMuch() {
		ClientLimits limits = new ClientLimits(Map.of(Limit.MESSAGES_PER_SECOND, 10L, Limit.BYTES_PER_SECOND, 1000L),
				Action.SUSPEND);
		assertThat(this.client.owed(limits)).isZero();
		assertThat(this.client.take(limits, 1000)).isZero();
		assertThat(this.client.owed(limits)).isZero();
		this.client.take(limits, 500);
		assertThat(this.client.owed(limits)).isEqualTo(-Duration.ofMillis(500).toNanos());
		pass(Duration.ofMillis(150));
		assertThat(this.client.owed(limits)).isEqualTo(-Duration.ofMillis(350).toNanos());
		pass(Duration.ofMillis(350));
		assertThat(this.client.owed(limits)).isZero();
		for (int i = 0; i < 12; i++) {
			this.client.take(limits, 0);
		}
		assertThat(this.client.owed(limits)).isEqualTo(Duration.ofMillis(200).toNanos());
	}

	@Test
	void aDebtIsTheSameNumberAtAnotherRate() {
		this.client.take(limits(Limit.BYTES_PER_SECOND, 1), 601);
		ClientLimits low = limits(Limit.BYTES_PER_SECOND, 1);
		assertThat(this.client.owed(low)).isEqualTo(-Duration.ofSeconds(600).toNanos());
		assertThat(this.client.owed(limits(Limit.BYTES_PER_SECOND, 600))).isEqualTo(-Duration.ofSeconds(1).toNanos());
		assertThat(this.client.owed(limits(Limit.BYTES_PER_SECOND, 6))).isEqualTo(-Duration.ofSeconds(100).toNanos());
		assertThat(this.client.owed(limits(Limit.MAX_CONNECTIONS, 6))).isZero();
	}

	@Test
	void anEmptyMessageIsAByte() {
		ClientLimits limits = limits(Limit.BYTES_PER_SECOND, 2);
		assertThat(this.client.take(limits, 0)).isZero();
		assertThat(this.client.tryTake(limits, 0)).isNull();
		assertThat(this.client.tryTake(limits, 0)).isEqualTo(Limit.BYTES_PER_SECOND);
		assertThat(this.client.take(limits, 0)).isNegative();
	}

	@Test
	void aMessageThatIsLargerThanTheLimitIsPaidForLater() {
		ClientLimits limits = limits(Limit.BYTES_PER_SECOND, 1000);
		assertThat(this.client.take(limits, 3000)).isEqualTo(-Duration.ofSeconds(2).toNanos());
		pass(Duration.ofSeconds(2));
		assertThat(this.client.tryTake(limits, 0)).isEqualTo(Limit.BYTES_PER_SECOND);
		pass(Duration.ofMillis(1));
		assertThat(this.client.tryTake(limits, 3000)).isNull();
		assertThat(this.client.tryTake(limits, 1)).isEqualTo(Limit.BYTES_PER_SECOND);
	}

	@Test
	void aRefusedMessageDoesNotCount() {
		ClientLimits limits = limits(Limit.MESSAGES_PER_SECOND, 1);
		assertThat(this.client.tryTake(limits, 1)).isNull();
		for (int i = 0; i < 100; i++) {
			assertThat(this.client.tryTake(limits, 1)).isEqualTo(Limit.MESSAGES_PER_SECOND);
		}
		pass(Duration.ofSeconds(1));
		assertThat(this.client.tryTake(limits, 1)).isNull();
	}

	@Test
	void connectionsCountUntilTheyAreClosed() {
		ClientLimits limits = limits(Limit.MAX_CONNECTIONS, 2);
		assertThat(this.client.admit(limits, null)).isNull();
		assertThat(this.client.admit(limits, null)).isNull();
		assertThat(this.client.admit(limits, null)).isEqualTo(Limit.MAX_CONNECTIONS);
		this.client.leave(null);
		assertThat(this.client.admit(limits, null)).isNull();
	}

	/**
	 * A connection that is closing gives way, but it still has a socket: a client cannot
	 * have any number of them.
	 */
	@Test
	void someConnectionsOfAKeyThatAreClosingDoNotCount() {
		ClientLimits limits = limits(Limit.MAX_CONNECTIONS, 1);
		List<LimitedConnection> connections = new ArrayList<>();
		for (int i = 0; i < 9; i++) {
			LimitedConnection connection = mock(LimitedConnection.class);
			assertThat(this.client.admit(limits, connection)).isNull();
			assertThat(this.client.admit(limits, mock(LimitedConnection.class))).isEqualTo(Limit.MAX_CONNECTIONS);
			given(connection.isClosing()).willReturn(true);
			connections.add(connection);
		}
		LimitedConnection next = mock(LimitedConnection.class);
		assertThat(this.client.admit(limits, next)).isEqualTo(Limit.MAX_CONNECTIONS);
		this.client.leave(connections.get(3));
		assertThat(this.client.admit(limits, next)).isNull();
		connections.remove(3);
		connections.forEach(this.client::leave);
		assertThat(this.client.isForgettable()).isFalse();
		this.client.leave(next);
		assertThat(this.client.isForgettable()).isTrue();
	}

	@Test
	void newConnectionsCountForASecond() {
		ClientLimits limits = limits(Limit.CONNECTIONS_PER_SECOND, 2);
		assertThat(this.client.admit(limits, null)).isNull();
		this.client.leave(null);
		assertThat(this.client.admit(limits, null)).isNull();
		this.client.leave(null);
		assertThat(this.client.admit(limits, null)).isEqualTo(Limit.CONNECTIONS_PER_SECOND);
		pass(Duration.ofMillis(500));
		assertThat(this.client.admit(limits, null)).isNull();
		assertThat(this.client.admit(limits, null)).isEqualTo(Limit.CONNECTIONS_PER_SECOND);
	}

	@Test
	void theMinuteBeginsWithTheFirstFailedLogin() {
		ClientLimits limits = limits(Limit.FAILED_LOGINS_PER_MINUTE, 2);
		assertThat(this.client.admit(limits, null)).isNull();
		pass(Duration.ofSeconds(50));
		this.client.loginFailed(limits);
		assertThat(this.client.mayNotLogIn(limits)).isFalse();
		this.client.loginFailed(limits);
		this.client.loginFailed(limits);
		assertThat(this.client.mayNotLogIn(limits)).isTrue();
		assertThat(this.client.admit(limits, null)).isEqualTo(Limit.FAILED_LOGINS_PER_MINUTE);
		pass(Duration.ofSeconds(59));
		assertThat(this.client.mayNotLogIn(limits)).isTrue();
		pass(Duration.ofSeconds(1));
		assertThat(this.client.mayNotLogIn(limits)).isFalse();
		assertThat(this.client.admit(limits, null)).isNull();
	}

	@Test
	void changedLimitsApplyAtOnceAndRemovedOnesNoLonger() {
		ClientLimits few = limits(Limit.MESSAGES_PER_SECOND, 10);
		for (int i = 0; i < 10; i++) {
			this.client.take(few, 1);
		}
		ClientLimits many = limits(Limit.MESSAGES_PER_SECOND, 1000);
		assertThat(this.client.take(many, 1)).isEqualTo(Duration.ofMillis(1).toNanos());
		assertThat(this.client.take(limits(Limit.MAX_CONNECTIONS, 1), 1)).isZero();
		assertThat(this.client.tryTake(limits(Limit.MAX_CONNECTIONS, 1), 1)).isNull();
	}

	@Test
	void aClosedConnectionThatWasClosingMakesRoomForOneOnly() {
		ClientLimits limits = limits(Limit.MAX_CONNECTIONS, 1);
		LimitedConnection closed = mock(LimitedConnection.class);
		assertThat(this.client.admit(limits, closed)).isNull();
		given(closed.isClosing()).willReturn(true);
		this.client.leave(closed);
		assertThat(this.client.admit(limits, mock(LimitedConnection.class))).isNull();
		assertThat(this.client.admit(limits, mock(LimitedConnection.class))).isEqualTo(Limit.MAX_CONNECTIONS);
	}

	@Test
	void aLaterFailedLoginBeginsAMinuteOfItsOwn() {
		ClientLimits limits = limits(Limit.FAILED_LOGINS_PER_MINUTE, 2);
		this.client.loginFailed(limits);
		pass(Duration.ofSeconds(119));
		this.client.loginFailed(limits);
		this.client.loginFailed(limits);
		pass(Duration.ofSeconds(2));
		assertThat(this.client.mayNotLogIn(limits)).isTrue();
		assertThat(this.client.mayNotLogIn(limits(Limit.MAX_CONNECTIONS, 1))).as("the limit was removed").isFalse();
	}

	@Test
	void noWaitIsLongerThanAnHour() {
		assertThat(this.client.take(limits(Limit.BYTES_PER_SECOND, 1), 10_000))
			.isEqualTo(-Duration.ofHours(1).toNanos());
		ClientLimits limits = limits(Limit.MESSAGES_PER_SECOND, 1);
		for (int i = 0; i < 3700; i++) {
			this.client.take(limits, 1);
		}
		assertThat(this.client.take(limits, 1)).isEqualTo(Duration.ofHours(1).toNanos());
	}

	@Test
	void whatWasUsedCountsInProportionIfALimitIsRaised() {
		for (int i = 0; i < 5; i++) {
			this.client.take(limits(Limit.MESSAGES_PER_SECOND, 10), 1);
		}
		ClientLimits raised = limits(Limit.MESSAGES_PER_SECOND, 100);
		for (int i = 0; i < 50; i++) {
			assertThat(this.client.take(raised, 1)).isZero();
		}
		assertThat(this.client.take(raised, 1)).isPositive();
	}

	@Test
	void theGreatestLimitIsPossibleForSeveralClients() {
		Client network = new Client("10.0.0.0/8", 3, 512, this.clock::get);
		assertThat(network.take(limits(Limit.MESSAGES_PER_SECOND, ClientLimits.GREATEST), 1)).isZero();
	}

	@Test
	void noLimitIsEvadedByBeingForgotten() {
		Client connecting = new Client("10.0.0.2", 0, 1, this.clock::get);
		connecting.admit(limits(Limit.CONNECTIONS_PER_SECOND, 1), null);
		connecting.leave(null);
		this.client.take(limits(Limit.BYTES_PER_SECOND, 1), 1);
		assertThat(connecting.isForgettable()).isFalse();
		assertThat(this.client.isForgettable()).isFalse();
		pass(Duration.ofSeconds(1));
		assertThat(connecting.isForgettable()).isTrue();
		assertThat(this.client.isForgettable()).isTrue();
	}

	@Test
	void aClientIsForgottenWhenNothingIsLeftToRemember() {
		ClientLimits limits = new ClientLimits(
				Map.of(Limit.MESSAGES_PER_SECOND, 10L, Limit.FAILED_LOGINS_PER_MINUTE, 5L), Action.SUSPEND);
		assertThat(this.client.isForgettable()).isTrue();
		this.client.retain();
		assertThat(this.client.isForgettable()).isFalse();
		this.client.letGo();
		this.client.admit(limits, null);
		assertThat(this.client.isForgettable()).isFalse();
		this.client.leave(null);
		this.client.take(limits, 1);
		assertThat(this.client.isForgettable()).isFalse();
		pass(Duration.ofMillis(100));
		assertThat(this.client.isForgettable()).isTrue();
		this.client.loginFailed(limits);
		assertThat(this.client.isForgettable()).isFalse();
		pass(Duration.ofMinutes(1));
		assertThat(this.client.isForgettable()).isTrue();
	}

	@Test
	void severalClientsTogetherMayUseMore() {
		Client network = new Client("10.0.0.0/24", 1, 8, this.clock::get);
		ClientLimits limits = limits(Limit.MAX_CONNECTIONS, 2);
		for (int i = 0; i < 16; i++) {
			assertThat(network.admit(limits, null)).isNull();
		}
		assertThat(network.admit(limits, null)).isEqualTo(Limit.MAX_CONNECTIONS);
	}

	@Test
	void aNameThatAClientHasChosenIsShortAndPrintable() {
		assertThat(new Client("evil\nname\u001b[2J", 0, 1, this.clock::get).name()).isEqualTo("evil?name?[2J");
		assertThat(new Client("x".repeat(1000), 0, 1, this.clock::get).name()).hasSize(65);
	}

	@ParameterizedTest
	@CsvSource({ "203.0.113.77,32,203.0.113.77", "203.0.113.77,24,203.0.113.0/24", "203.0.113.77,8,203.0.0.0/8",
			"2001:db8:1:2:3:4:5:6,128,2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6,64,2001:db8:1:2:0:0:0:0/64",
			"2001:db8:1:2:ffff:4:5:6,72,2001:db8:1:2:ff00:0:0:0/72", "2001:db8:1:2:3:4:5:6,32,2001:db8:0:0:0:0:0:0/32",
			"::ffff:203.0.113.77,32,203.0.113.77" })
	void aPrefixIsTheBeginningOfAnAddress(String address, int length, String expected) throws UnknownHostException {
		ClientPrefix prefix = ClientPrefix.of(InetAddress.getByName(address), length);
		assertThat(prefix).hasToString(expected);
		InetAddress first = InetAddress.getByName(expected.replaceFirst("/.*", ""));
		assertThat(ClientPrefix.of(first, length)).isEqualTo(prefix).isEqualByComparingTo(prefix);
	}

	@ParameterizedTest
	@CsvSource({ "0", "-1", "1000000001" })
	void limitsHaveARange(long value) {
		assertThatIllegalArgumentException().isThrownBy(() -> limits(Limit.BYTES_PER_SECOND, value))
			.withMessage("'bytes-per-second' must be from 1 to 1000000000, but is " + value);
	}

}
