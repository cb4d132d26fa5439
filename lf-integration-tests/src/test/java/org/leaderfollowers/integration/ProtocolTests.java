package org.leaderfollowers.integration;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.stream.Stream;

import ca.uhn.hl7v2.DefaultHapiContext;
import ca.uhn.hl7v2.HapiContext;
import ca.uhn.hl7v2.app.Connection;
import ca.uhn.hl7v2.model.Message;
import ca.uhn.hl7v2.parser.GenericModelClassFactory;
import ca.uhn.hl7v2.util.Terser;
import ca.uhn.hl7v2.validation.impl.ValidationContextFactory;
import com.ghgande.j2mod.modbus.facade.ModbusTCPMaster;
import com.ghgande.j2mod.modbus.procimg.Register;
import com.ghgande.j2mod.modbus.procimg.SimpleRegister;
import org.jpos.iso.BaseChannel;
import org.jpos.iso.ISOMsg;
import org.jpos.iso.ISOUtil;
import org.jpos.iso.channel.ASCIIChannel;
import org.jpos.iso.channel.NACChannel;
import org.jpos.iso.channel.PostChannel;
import org.jpos.iso.packager.ISO87APackager;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

/**
 * The framings of well-known protocols, which only properties configure, with clients
 * that others have written.
 */
@Timeout(240)
class ProtocolTests {

	private static final Path REDIS_BENCHMARK = Path.of("/usr/bin/redis-benchmark");

	private static final String LONG_TEXT = "0123456789".repeat(6_000);

	private static final int PATIENCE = 60_000;

	@TempDir
	Path directory;

	private static ConfigurableApplicationContext run(Class<?> handler, String... framing) {
		return new SpringApplicationBuilder(Server.class, handler).web(WebApplicationType.NONE)
			.properties("lf.server.port=0", "lf.server.address=127.0.0.1")
			.run(Stream.of(framing).map((property) -> "--lf.server.framing." + property).toArray(String[]::new));
	}

	private static int port(ConfigurableApplicationContext context) {
		return context.getBean(LeaderFollowersServers.class).get("default").port();
	}

	private static byte[] bytes(ByteBuffer message) {
		byte[] bytes = new byte[message.remaining()];
		message.get(bytes);
		return bytes;
	}

	@Test
	void hapiSendsHl7MessagesByMllp() throws Exception {
		try (ConfigurableApplicationContext context = run(Hospital.class, "type=mllp");
				HapiContext hapi = new DefaultHapiContext()) {
			hapi.setModelClassFactory(new GenericModelClassFactory());
			hapi.setValidationContext(ValidationContextFactory.noValidation());
			Connection client = hapi.newClient("127.0.0.1", port(context), false);
			client.getInitiator().setTimeout(PATIENCE, TimeUnit.MILLISECONDS);
			for (String text : List.of("short", LONG_TEXT, "again")) {
				Message message = hapi.getPipeParser()
					.parse("MSH|^~\\&|lab|a|ward|b|20260101120000||ORU^R01|id-%s|P|2.5\rOBX|1|TX|||%s\r"
						.formatted(text.length(), text));
				Terser reply = new Terser(client.getInitiator().sendAndReceive(message));
				assertThat(reply.get("/.MSA-1")).isEqualTo("AA");
				assertThat(reply.get("/.MSA-2")).isEqualTo("id-" + text.length());
				assertThat(reply.get("/.MSA-3")).isEqualTo(text);
			}
			client.close();
		}
	}

	@Test
	void jposSendsIso8583MessagesBehindTwoBytes() throws Exception {
		exchangeIso8583("type=iso8583", (port) -> new PostChannel("127.0.0.1", port, new ISO87APackager()));
	}

	@Test
	void jposSendsIso8583MessagesWithATpdu() throws Exception {
		exchangeIso8583("type=iso8583",
				(port) -> new NACChannel("127.0.0.1", port, new ISO87APackager(), ISOUtil.hex2byte("6000120034")));
	}

	@Test
	void jposSendsIso8583MessagesBehindFourDigits() throws Exception {
		exchangeIso8583("type=iso8583-decimal", (port) -> new ASCIIChannel("127.0.0.1", port, new ISO87APackager()));
	}

	private static void exchangeIso8583(String framing, IntFunction<BaseChannel> client) throws Exception {
		try (ConfigurableApplicationContext context = run(Bank.class, framing)) {
			BaseChannel channel = client.apply(port(context));
			channel.setTimeout(PATIENCE);
			channel.connect();
			for (int trace = 1; trace <= 20; trace++) {
				ISOMsg request = new ISOMsg("0800");
				request.set(11, "%06d".formatted(trace));
				request.set(48, LONG_TEXT.substring(0, 40 * trace));
				request.set(70, "301");
				channel.sendKeepAlive();
				channel.send(request);
				ISOMsg reply = channel.receive();
				assertThat(reply.getMTI()).isEqualTo("0810");
				assertThat(reply.getString(11)).isEqualTo(request.getString(11));
				assertThat(reply.getString(48)).isEqualTo(request.getString(48));
				if (channel instanceof NACChannel) {
					assertThat(reply.getHeader()).isEqualTo(ISOUtil.hex2byte("6000340012"));
				}
			}
			channel.disconnect();
		}
	}

	@Test
	void j2modReadsAndWritesRegisters() throws Exception {
		try (ConfigurableApplicationContext context = run(Device.class, "type=modbus-tcp")) {
			ModbusTCPMaster master = new ModbusTCPMaster("127.0.0.1", port(context), PATIENCE, false);
			master.connect();
			for (int i = 0; i < 20; i++) {
				Register[] values = { new SimpleRegister(i), new SimpleRegister(0xFFFF), new SimpleRegister(7) };
				assertThat(master.writeMultipleRegisters(1, 10, values)).isEqualTo(3);
				assertThat(master.readMultipleRegisters(1, 9, 5)).extracting(Register::getValue)
					.containsExactly(0, i, 0xFFFF, 7, 0);
				assertThat(master.readMultipleRegisters(1, 0, 125)).hasSize(125);
			}
			master.disconnect();
		}
	}

	@Test
	void redisBenchmarkIsServed() throws Exception {
		assumeThat(Files.isExecutable(REDIS_BENCHMARK)).as("redis-benchmark is installed").isTrue();
		try (ConfigurableApplicationContext context = run(Store.class, "type=resp")) {
			Path output = this.directory.resolve("output");
			Process benchmark = new ProcessBuilder(REDIS_BENCHMARK.toString(), "-p", String.valueOf(port(context)),
					"-t", "ping,set,get,mset,lrange_100", "-n", "3000", "-c", "10", "-P", "16", "-d", "3000", "--csv")
				.redirectErrorStream(true)
				.redirectOutput(output.toFile())
				.start();
			try {
				assertThat(benchmark.waitFor(PATIENCE, TimeUnit.MILLISECONDS)).isTrue();
			}
			finally {
				benchmark.destroyForcibly();
			}
			assertThat(output).content()
				.contains("\"PING_INLINE\"", "\"PING_MBULK\"", "\"SET\"", "\"GET\"", "\"MSET (10 keys)\"",
						"\"LRANGE_100 (first 100 elements)\"")
				.doesNotContain("Error");
			assertThat(benchmark.exitValue()).isZero();
		}
	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration(LeaderFollowersAutoConfiguration.class)
	static class Server {

	}

	/** Acknowledges messages with the text of their first observation. */
	@Configuration(proxyBeanMethods = false)
	static class Hospital {

		@Bean
		@LfHandler
		MessageHandler hl7() {
			return (connection, message) -> {
				String[] segments = new String(bytes(message), StandardCharsets.US_ASCII).split("\r");
				String id = segments[0].split("\\|")[9];
				String text = segments[1].split("\\|")[5];
				String reply = "MSH|^~\\&|ward|b|lab|a|20260101120001||ACK|1|P|2.5\rMSA|AA|%s|%s\r".formatted(id, text);
				connection.send(ByteBuffer.wrap(reply.getBytes(StandardCharsets.US_ASCII)));
			};
		}

	}

	/** Returns a request as its response: 0800 becomes 0810. */
	@Configuration(proxyBeanMethods = false)
	static class Bank {

		private static final int TPDU = 0x60;

		@Bean
		@LfHandler
		MessageHandler iso8583() {
			return (connection, message) -> {
				if (!message.hasRemaining()) {
					// It keeps the connection alive.
					return;
				}
				byte[] reply = bytes(message);
				boolean hasTpdu = reply[0] == TPDU;
				if (hasTpdu) {
					byte[] addresses = Arrays.copyOfRange(reply, 1, 5);
					System.arraycopy(addresses, 2, reply, 1, 2);
					System.arraycopy(addresses, 0, reply, 3, 2);
				}
				reply[hasTpdu ? 7 : 2]++;
				connection.send(ByteBuffer.wrap(reply));
			};
		}

	}

	/** Has 200 registers. */
	@Configuration(proxyBeanMethods = false)
	static class Device {

		private static final byte READ = 3;

		private final short[] registers = new short[200];

		@Bean
		@LfHandler
		MessageHandler modbus() {
			return (connection, request) -> {
				ByteBuffer reply = ByteBuffer.allocate(260);
				// Number, protocol, unit and function are returned.
				byte[] header = new byte[6];
				request.get(header);
				reply.put(header);
				short address = request.getShort();
				short count = request.getShort();
				if (header[5] == READ) {
					reply.put((byte) (2 * count));
					for (int i = 0; i < count; i++) {
						reply.putShort(this.registers[address + i]);
					}
				}
				else {
					request.get();
					for (int i = 0; i < count; i++) {
						this.registers[address + i] = request.getShort();
					}
					reply.putShort(address).putShort(count);
				}
				connection.send(reply.flip());
			};
		}

	}

	/** Replies to commands as a Redis does that stores nothing. */
	@Configuration(proxyBeanMethods = false)
	static class Store {

		@Bean
		@LfHandler
		MessageHandler redis() {
			return (connection, message) -> {
				String[] request = new String(bytes(message), StandardCharsets.US_ASCII).split("\r\n");
				String command = request[0].startsWith("*") ? request[2] : request[0];
				String reply = switch (command.toUpperCase(Locale.ROOT)) {
					case "PING" -> "+PONG\r\n";
					case "SET", "MSET" -> "+OK\r\n";
					case "LPUSH" -> ":1\r\n";
					case "GET" -> "$-1\r\n";
					case "LRANGE" -> "*100\r\n" + "$1\r\nx\r\n".repeat(100);
					default -> "-ERR unknown command\r\n";
				};
				connection.send(ByteBuffer.wrap(reply.getBytes(StandardCharsets.US_ASCII)));
			};
		}

	}

}
