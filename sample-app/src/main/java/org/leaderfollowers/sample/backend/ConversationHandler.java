package org.leaderfollowers.sample.backend;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.UUID;

import org.leaderfollowers.Connection;
import org.leaderfollowers.ExchangeTimeoutException;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.sample.Tiers;
import org.leaderfollowers.sample.TransactionResult;
import org.leaderfollowers.sample.backend.ConversationReply.Begun;
import org.leaderfollowers.sample.backend.ConversationReply.Committed;
import org.leaderfollowers.sample.backend.ConversationReply.Invalid;
import org.leaderfollowers.sample.backend.ConversationReply.Moved;
import org.leaderfollowers.sample.backend.ConversationReply.RolledBack;
import org.leaderfollowers.sample.backend.ConversationReply.Unknown;
import org.leaderfollowers.sample.client.ClientProtocol;
import org.leaderfollowers.sample.client.InvalidRequestException;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.ObjectWriter;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.aot.hint.annotation.RegisterReflectionForBinding;
import org.springframework.context.annotation.Profile;
import org.springframework.dao.DataAccessException;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionException;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * Several transactions that are committed together, as in a transaction monitor:
 * {@code BEGIN}, any number of requests, and {@code COMMIT} or {@code ROLLBACK}.
 * <p>
 * The database transaction is bound to the thread, so the thread is bound to the
 * connection: the handler does not return between the messages of a conversation, but
 * receives the next message itself. Each conversation therefore occupies a thread, and
 * holds locks on the rows that it has changed. Its timeout is therefore short.
 */
// tag::handler[]
@LfHandler(server = "conversations")
@Profile(Tiers.BACK_END_1)
@RegisterReflectionForBinding(ConversationReply.class)
class ConversationHandler implements MessageHandler {

	// end::handler[]
	private static final Logger logger = LoggerFactory.getLogger(ConversationHandler.class);

	// tag::handler[]
	private final TransactionService transactions;

	private final TransactionTemplate database;

	private final ClientProtocol protocol;

	private final ObjectWriter writer;

	private final OltpProperties properties;

	ConversationHandler(TransactionService transactions, PlatformTransactionManager transactionManager,
			ClientProtocol protocol, JsonMapper mapper, OltpProperties properties) {
		this.transactions = transactions;
		this.database = new TransactionTemplate(transactionManager);
		this.protocol = protocol;
		this.writer = mapper.writerFor(ConversationReply.class);
		this.properties = properties;
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) {
		if (!text(message).equals("BEGIN")) {
			send(connection, new Invalid("A conversation begins with BEGIN"));
			return;
		}
		send(connection, converse(connection));
	}

	private ConversationReply converse(Connection connection) {
		boolean[] ending = new boolean[1];
		try {
			return this.database.execute((status) -> {
				send(connection, new Begun());
				int count = 0;
				for (;;) {
					ByteBuffer message = connection.receive(this.properties.conversationTimeout());
					switch (text(message)) {
						case "COMMIT" -> {
							ending[0] = true;
							return new Committed(count);
						}
						case "ROLLBACK" -> {
							status.setRollbackOnly();
							return new RolledBack("The client has asked for it");
						}
						default -> send(connection, move(message));
					}
					count++;
				}
			});
		}
		catch (RejectedException | InvalidRequestException ex) {
			return new RolledBack(ex.getMessage());
		}
		catch (ExchangeTimeoutException ex) {
			return new RolledBack("The client has sent nothing for " + this.properties.conversationTimeout());
		}
		catch (DataAccessException | TransactionException ex) {
			logger.debug("A conversation failed", ex);
			return ending[0] ? new Unknown("The database failed; see the balances before you try again")
					: new RolledBack("The database failed, or others move the same balances; try again");
		}
	}

	private Moved move(ByteBuffer message) {
		byte[] line = new byte[message.remaining()];
		message.get(message.position(), line);
		TransactionResult.Committed result = this.transactions.execute(UUID.randomUUID(), this.protocol.read(line));
		return new Moved(result.account(), result.balance(), result.transaction());
	}
	// end::handler[]

	private static String text(ByteBuffer message) {
		return StandardCharsets.UTF_8.decode(message.duplicate()).toString();
	}

	private void send(Connection connection, ConversationReply reply) {
		connection.send(ByteBuffer.wrap(this.writer.writeValueAsBytes(reply)));
	}

	// tag::handler[]

}
// end::handler[]
