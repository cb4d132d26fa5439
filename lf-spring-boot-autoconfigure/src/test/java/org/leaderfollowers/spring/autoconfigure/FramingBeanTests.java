package org.leaderfollowers.spring.autoconfigure;

import java.nio.ByteBuffer;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.leaderfollowers.Framing;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfigurationTests.EchoBeanMethod;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Framings of the application, chosen by the name of their bean.
 */
@ExtendWith(OutputCaptureExtension.class)
class FramingBeanTests {

	@Test
	void framingBeanIsUsed() {
		new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
			.withUserConfiguration(Framings.class)
			.withPropertyValues("lf.server.port=0", "lf.server.framing.bean=semicolon")
			.run((context) -> {
				LeaderFollowersServers servers = context.getBean(LeaderFollowersServers.class);
				assertThat(servers.get("default").snapshot().framing()).isEqualTo("semicolon framing");
				try (LineClient client = new LineClient(servers.get("default").port())) {
					assertThat(client.ask("hello;\n\n;")).isEqualTo("hello;");
				}
			});
	}

	@Test
	void unknownFramingBean(CapturedOutput output) {
		FailingApplication.run(Framings.class, "lf.server.port=0", "lf.server.framing.bean=semicolumn");
		assertAnalysis(output,
				"""
						The property 'lf.server.framing.bean' names the framing bean 'semicolumn', but there is no such framing bean. \
						Known framing beans: semicolon.""",
				"""
						Did you mean 'semicolon'? Define a bean of type org.leaderfollowers.Framing that has this name, \
						or remove the property and choose one of the built-in framings by 'lf.server.framing.type'.""");
	}

	@Test
	void unknownFramingBeanWithoutAnyFraming(CapturedOutput output) {
		FailingApplication.run(EchoBeanMethod.class, "lf.server.port=0", "lf.server.framing.bean=stxEtx");
		assertAnalysis(output,
				"""
						The property 'lf.server.framing.bean' names the framing bean 'stxEtx', but there is no such framing bean. \
						There are no framing beans.""",
				"Define a bean of type org.leaderfollowers.Framing that has this name");
	}

	@Test
	void beanThatIsNoFraming(CapturedOutput output) {
		FailingApplication.run(Framings.class, "lf.server.port=0", "lf.server.framing.bean=echo");
		assertThat(output).contains("configuration property 'lf.server.framing.bean'")
			.contains("Invalid value 'echo'")
			.contains(
					"The bean 'echo' is a org.leaderfollowers.spring.EchoHandler, which does not implement org.leaderfollowers.Framing.");
	}

	@Test
	void beanAndType(CapturedOutput output) {
		FailingApplication.run(Framings.class, "lf.server.port=0", "lf.server.framing.bean=semicolon",
				"lf.server.framing.type=fixed-length");
		assertThat(output).contains("configuration property 'lf.server.framing.type'")
			.contains(
					"Is not used, because 'lf.server.framing.bean' names the framing 'semicolon'. Remove one of them.");
	}

	@Test
	void detailsOfATypeBesideABean(CapturedOutput output) {
		FailingApplication.run(Framings.class, "lf.server.port=0", "lf.server.framing.bean=semicolon",
				"lf.server.framing.delimiter=;");
		assertThat(output).contains("configuration property 'lf.server.framing.delimiter'")
			.contains("Is used only if 'lf.server.framing.type' is 'delimiter'.");
	}

	private static void assertAnalysis(CapturedOutput output, String description, String action) {
		assertThat(output.toString().replace(System.lineSeparator(), "\n")).contains("APPLICATION FAILED TO START")
			.contains("Description:\n\n" + description)
			.contains("Action:\n\n" + action);
	}

	@Configuration(proxyBeanMethods = false)
	@Import(EchoBeanMethod.class)
	static class Framings {

		@Bean
		Framing semicolon() {
			return new Semicolon();
		}

	}

	static class Semicolon implements Framing {

		private final Framing delimiter = Framing.delimiter(";");

		@Override
		public boolean decode(ByteBuffer input, Frame frame) {
			return this.delimiter.decode(input, frame);
		}

		@Override
		public void encode(ByteBuffer payload, ByteBuffer output) {
			this.delimiter.encode(payload, output);
		}

		@Override
		public int maxFrameLength(int payloadLength) {
			return this.delimiter.maxFrameLength(payloadLength);
		}

		@Override
		public String toString() {
			return "semicolon framing";
		}

	}

}
