package org.leaderfollowers.docs.classes;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Bean;

import static org.assertj.core.api.Assertions.assertThat;

/** The example of the chapter about classes of service behaves as the chapter says. */
@SpringBootTest(properties = { "spring.config.location=classpath:service-classes.yaml", "lf.server.port=0" },
		classes = ClassSnippetTests.Application.class)
class ClassSnippetTests {

	@Autowired
	private LeaderFollowersServers servers;

	@Autowired
	private Requests requests;

	@Test
	void reportsDoNotDelayOtherRequests() throws Exception {
		List<Socket> reports = new ArrayList<>();
		try {
			for (int i = 0; i < 20; i++) {
				reports.add(send("REPORT\n"));
			}
			try (Socket other = send("PRICE\n")) {
				assertThat(read(other)).isEqualTo("PRICE by default");
			}
			this.requests.gate.countDown();
			for (Socket report : reports) {
				assertThat(read(report)).isEqualTo("REPORT by reports");
			}
		}
		finally {
			for (Socket report : reports) {
				report.close();
			}
		}
	}

	private Socket send(String text) throws IOException {
		Socket socket = new Socket(InetAddress.getLoopbackAddress(), this.servers.get("default").port());
		socket.setSoTimeout(60_000);
		socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
		return socket;
	}

	private static String read(Socket socket) throws IOException {
		return new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII)).readLine();
	}

	@LfHandler
	static class Requests {

		final CountDownLatch gate = new CountDownLatch(1);

		@OnMessage
		String answer(String request) throws InterruptedException {
			if (request.equals("REPORT")) {
				assertThat(this.gate.await(60, TimeUnit.SECONDS)).isTrue();
			}
			return request + " by " + Thread.currentThread().getName().replaceFirst("^lf-(.*)-[0-9]+$", "$1");
		}

	}

	@SpringBootApplication
	static class Application {

		@Bean
		Requests requests() {
			return new Requests();
		}

	}

}
