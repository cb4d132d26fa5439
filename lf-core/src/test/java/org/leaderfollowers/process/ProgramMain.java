package org.leaderfollowers.process;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.lang.reflect.Constructor;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

import org.leaderfollowers.Framing;
import org.leaderfollowers.Server;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.TransportType;

/**
 * The main class of a {@link ServerProcess}: starts the program, and answers the test
 * over one connection. It opens nothing and starts no thread later, so that it can answer
 * when the system refuses both. It ends when the test does.
 */
final class ProgramMain {

	/** What is told instead of an answer if the program has failed. */
	static final int NO_ANSWER = -1;

	/** What is told instead of an answer for which there is no memory. */
	static final int NO_MEMORY = -2;

	private static final int LONGEST_QUESTION = 1000;

	private ProgramMain() {
	}

	public static void main(String[] arguments) {
		try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[1]));
				DataInputStream questions = new DataInputStream(socket.getInputStream());
				DataOutputStream answers = new DataOutputStream(socket.getOutputStream())) {
			Constructor<?> constructor = Class.forName(arguments[0]).getDeclaredConstructor();
			constructor.setAccessible(true);
			Program program = (Program) constructor.newInstance();
			loadClassesOfEngine();
			Server server = program.start();
			// Done now: a question may come while memory is short.
			serialize(true);
			byte[] question = new byte[LONGEST_QUESTION];
			answers.writeInt(server.port());
			while (true) {
				int length = questions.readUnsignedShort();
				questions.readFully(question, 0, length);
				answer(program, server, question, length, answers);
			}
		}
		catch (IOException ex) {
			Runtime.getRuntime().halt(0);
		}
		catch (Exception | Error ex) {
			ex.printStackTrace();
			Runtime.getRuntime().halt(1);
		}
	}

	/** Classes are files here, and cannot be loaded when descriptors are short. */
	private static void loadClassesOfEngine() throws Exception {
		Path root = Path.of(Server.class.getProtectionDomain().getCodeSource().getLocation().toURI());
		if (Files.isDirectory(root)) {
			try (Stream<Path> files = Files.walk(root)) {
				List<String> names = files.map((file) -> root.relativize(file).toString())
					.filter((file) -> file.endsWith(".class") && !file.endsWith("-info.class"))
					.map((file) -> file.replace(".class", "").replace(File.separatorChar, '.'))
					.toList();
				for (String name : names) {
					Class.forName(name, false, Server.class.getClassLoader());
				}
			}
		}
	}

	private static void answer(Program program, Server server, byte[] question, int length, DataOutputStream answers)
			throws IOException {
		byte[] bytes;
		try {
			bytes = serialize(answer(program, server, new String(question, 0, length, StandardCharsets.US_ASCII)));
		}
		catch (VirtualMachineError ex) {
			// The JDK wraps some errors in an InternalError.
			answers.writeInt(NO_MEMORY);
			return;
		}
		catch (Exception | Error ex) {
			ex.printStackTrace();
			answers.writeInt(NO_ANSWER);
			return;
		}
		answers.writeInt(bytes.length);
		answers.write(bytes);
	}

	private static byte[] serialize(Serializable answer) throws IOException {
		ByteArrayOutputStream buffer = new ByteArrayOutputStream();
		try (ObjectOutputStream output = new ObjectOutputStream(buffer)) {
			output.writeObject(answer);
		}
		return buffer.toByteArray();
	}

	private static Serializable answer(Program program, Server server, String question) throws Exception {
		return switch (question) {
			case "state" -> ProcessState.of(server);
			case "protocol" -> protocol(server.snapshot());
			default -> program.answer(question);
		};
	}

	private static String protocol(ServerSnapshot server) {
		if (server.transport() == TransportType.UDP) {
			return "UDP";
		}
		if (server.tls() != null) {
			return "TLS";
		}
		return server.framing().equals(Framing.line().toString()) ? "LINES" : "FRAMES";
	}

}
