package org.leaderfollowers.sample;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileOwnerAttributeView;
import java.nio.file.attribute.UserPrincipal;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.tukaani.xz.XZInputStream;

import org.springframework.util.FileSystemUtils;

/**
 * A PostgreSQL server for this build only, from the programs on the class path. The
 * programs refuse to run as root, so root runs them as the user {@code nobody}.
 */
final class PostgresqlServer {

	static final String USER = "oltp";

	private static final boolean WINDOWS = System.getProperty("os.name").startsWith("Windows");

	private static final String PROGRAMS = "/postgres-%s-%s.txz".formatted(
			WINDOWS ? "windows" : System.getProperty("os.name").startsWith("Mac") ? "darwin" : "linux",
			System.getProperty("os.arch").equals("aarch64") && !WINDOWS ? "arm_64" : "x86_64");

	private static final int STARTS = 5;

	/** Below the directory for temporary files, which other users can read as well. */
	private final Path directory = Files.createTempDirectory("oltp-postgresql-");

	private final boolean root = !WINDOWS && "root".equals(Files.getOwner(this.directory).getName());

	private final int port;

	private PostgresqlServer(InputStream programs) throws IOException {
		try {
			extract(programs);
			if (this.root) {
				giveAway();
			}
			run("initdb", "-D", path("data"), "-U", USER, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync");
			this.port = startOnFreePort();
		}
		catch (IOException | RuntimeException ex) {
			delete();
			throw ex;
		}
	}

	/**
	 * Whether there are programs for this system. Those for Linux need the GNU C library,
	 * which Alpine does not have.
	 */
	static boolean isAvailable() {
		return PostgresqlServer.class.getResource(PROGRAMS) != null && Files.notExists(Path.of("/etc/alpine-release"));
	}

	/**
	 * Starts a server that is stopped when this virtual machine ends.
	 */
	static PostgresqlServer start() {
		try (InputStream programs = PostgresqlServer.class.getResourceAsStream(PROGRAMS)) {
			PostgresqlServer server = new PostgresqlServer(Objects.requireNonNull(programs));
			Runtime.getRuntime().addShutdownHook(new Thread(server::stop));
			return server;
		}
		catch (IOException ex) {
			throw new UncheckedIOException("PostgreSQL could not be started: " + ex.getMessage(), ex);
		}
	}

	int port() {
		return this.port;
	}

	private void extract(InputStream programs) throws IOException {
		try (TarArchiveInputStream tar = new TarArchiveInputStream(
				new XZInputStream(new BufferedInputStream(programs)))) {
			for (TarArchiveEntry entry = tar.getNextEntry(); entry != null; entry = tar.getNextEntry()) {
				Path target = this.directory.resolve(entry.getName()).normalize();
				if (entry.isDirectory()) {
					Files.createDirectories(target);
					continue;
				}
				Files.createDirectories(target.getParent());
				if (entry.isSymbolicLink()) {
					Files.createSymbolicLink(target, Path.of(entry.getLinkName()));
					continue;
				}
				Files.copy(tar, target);
				if (target.getParent().endsWith("bin") && !target.toFile().setExecutable(true, false)) {
					throw new IOException(target + " cannot be made executable");
				}
			}
		}
	}

	private void giveAway() throws IOException {
		UserPrincipal nobody = FileSystems.getDefault().getUserPrincipalLookupService().lookupPrincipalByName("nobody");
		try (Stream<Path> files = Files.walk(this.directory)) {
			for (Path file : (Iterable<Path>) files::iterator) {
				Files.getFileAttributeView(file, FileOwnerAttributeView.class, LinkOption.NOFOLLOW_LINKS)
					.setOwner(nobody);
			}
		}
	}

	/** A port cannot be reserved: another program may take it before the server does. */
	private int startOnFreePort() throws IOException {
		for (int left = STARTS;; left--) {
			int free = FreePorts.find();
			try {
				start(free);
				return free;
			}
			catch (IOException ex) {
				if (left == 1) {
					throw new IOException(ex.getMessage() + Files.readString(this.directory.resolve("log")), ex);
				}
			}
		}
	}

	private void start(int at) throws IOException {
		String options = "-p %d -F -c autovacuum=off -c listen_addresses=127.0.0.1 -c unix_socket_directories="
			.formatted(at);
		run("pg_ctl", "-D", path("data"), "-l", path("log"), "-t", "120", "-w", "-o", options, "start");
	}

	/** Ends all processes of the server at once, as a crash does. */
	void crash() throws IOException {
		run("pg_ctl", "-D", path("data"), "-m", "immediate", "-w", "stop");
	}

	/** Starts the server again after a crash. It has all that was committed. */
	void restart() throws IOException {
		start(this.port);
	}

	/**
	 * Stops all processes of the server by a signal. Its sockets stay open, but nothing
	 * is answered until {@link #resume()} is called.
	 */
	void hang() throws IOException {
		// The first process starts the others: it comes first.
		signal("STOP", first());
		for (ProcessHandle process : first().children().toList()) {
			signal("STOP", process);
		}
	}

	/** Ends what {@link #hang()} began. */
	void resume() throws IOException {
		for (ProcessHandle process : first().children().toList()) {
			signal("CONT", process);
		}
		signal("CONT", first());
	}

	private ProcessHandle first() throws IOException {
		long pid = Long.parseLong(Files.readAllLines(this.directory.resolve("data/postmaster.pid")).get(0).strip());
		return ProcessHandle.of(pid).orElseThrow();
	}

	private static void signal(String name, ProcessHandle process) throws IOException {
		Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start();
		try {
			// A process may have ended by itself.
			if (kill.waitFor() != 0 && process.isAlive()) {
				throw new IOException("Process %d got no signal %s".formatted(process.pid(), name));
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IOException("kill was interrupted", ex);
		}
	}

	private void run(String program, String... arguments) throws IOException {
		List<String> command = new ArrayList<>(List.of(path("bin/" + program + (WINDOWS ? ".exe" : ""))));
		command.addAll(List.of(arguments));
		if (this.root) {
			command = List.of("su", "-s", "/bin/sh", "nobody", "-c",
					command.stream().map((word) -> "'" + word + "'").collect(Collectors.joining(" ")));
		}
		// A file, because the server would keep a pipe open.
		Path output = Files.createTempFile(this.directory, program, ".txt");
		Process process = new ProcessBuilder(command).directory(this.directory.toFile())
			.redirectErrorStream(true)
			.redirectOutput(output.toFile())
			.start();
		process.getOutputStream().close();
		int status;
		try {
			status = process.waitFor();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IOException(program + " was interrupted", ex);
		}
		if (status != 0) {
			throw new IOException("%s ended with %d:%n%s".formatted(program, status, Files.readString(output)));
		}
	}

	private String path(String name) {
		return this.directory.resolve(name).toString();
	}

	private void stop() {
		try {
			crash();
			delete();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private void delete() throws IOException {
		FileSystemUtils.deleteRecursively(this.directory);
	}

}
