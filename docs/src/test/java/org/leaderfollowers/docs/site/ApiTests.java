package org.leaderfollowers.docs.site;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

import org.jsoup.Jsoup;
import org.jsoup.nodes.Element;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Api}.
 */
class ApiTests {

	private final Api api = new Api();

	@BeforeEach
	void addJavadoc(@TempDir Path directory) throws IOException {
		Path types = Files.createDirectories(directory.resolve("org/leaderfollowers"));
		Files.writeString(types.resolve("Connection.html"),
				"<section class=\"detail\" id=\"send(java.nio.ByteBuffer)\">");
		Files.writeString(types.resolve("TcpServer.Builder.html"), "<section class=\"detail\" id=\"port(int)\">");
		Files.writeString(types.resolve("package-summary.html"), "");
		Files.writeString(directory.resolve("index.html"), "");
		this.api.add(directory, "api/core");
	}

	@Test
	void typesAndMembersHaveAddresses() {
		String connection = "api/core/org/leaderfollowers/Connection.html";
		assertThat(this.api.addressOf("Connection")).isEqualTo(connection);
		assertThat(this.api.addressOf("@Connection(server = \"a.b\")")).isEqualTo(connection);
		assertThat(this.api.addressOf("Connection.send")).isEqualTo(connection + "#send(java.nio.ByteBuffer)");
		assertThat(this.api.addressOf("Connection.send(reply)")).isEqualTo(connection + "#send(java.nio.ByteBuffer)");
		assertThat(this.api.addressOf("Connection.inherited")).isEqualTo(connection);
		assertThat(this.api.addressOf("TcpServer.Builder.port"))
			.isEqualTo("api/core/org/leaderfollowers/TcpServer.Builder.html#port(int)");
	}

	@Test
	void otherNamesHaveNone() {
		assertThat(this.api.addressOf("String")).isNull();
		assertThat(this.api.addressOf("connection")).isNull();
		assertThat(this.api.addressOf("TcpServer")).isNull();
		assertThat(this.api.addressOf("Connection, or")).isNull();
	}

	@Test
	void theFirstMentionInEachSectionIsLinked() {
		Element content = Jsoup.parse("""
				<div class="sect1"><h1 id="a"><code>Connection</code></h1><p><code>Connection</code></p>
				<div class="sect2"><h2 id="b">B</h2><p><code>Connection</code> <code>Connection</code></p>
				<pre><code>Connection</code></pre><p><a href="#a"><code>Connection</code></a></p></div></div>
				""").expectFirst(".sect1");
		this.api.link(content);
		assertThat(content.select("code > a.api")).hasSize(2);
		assertThat(content.select("p > code:first-child > a.api")).hasSize(2);
	}

}
