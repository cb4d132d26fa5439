package org.leaderfollowers.benchmarks.attack;

import java.nio.file.Path;
import java.util.List;

import org.leaderfollowers.benchmarks.load.Arguments;

/**
 * A server on the JVM that is attacked, in a process of its own. Prints the port without
 * and the port with TLS, and ends with its standard input. The arguments are
 * {@code --server=lf|netty|tomcat --certificate=<key store>}.
 */
public final class TargetProcess {

	private TargetProcess() {
	}

	/**
	 * Runs the server.
	 * @param args see the class
	 * @throws Exception if it cannot be started
	 */
	public static void main(String[] args) throws Exception {
		Arguments arguments = new Arguments(List.of(args));
		String server = arguments.text("server", "lf");
		Certificate certificate = new Certificate(Path.of(arguments.text("certificate", "")));
		arguments.rejectUnread();
		System.out.println(switch (server) {
			case "lf" -> LeaderFollowersTarget.start(certificate);
			case "netty" -> NettyTarget.start(certificate);
			case "tomcat" -> TomcatTarget.start(certificate);
			default -> throw new IllegalArgumentException("There is no server " + server);
		});
		System.out.flush();
		while (System.in.read() >= 0) {
			// Until the comparison ends or closes the input
		}
		System.exit(0);
	}

}
