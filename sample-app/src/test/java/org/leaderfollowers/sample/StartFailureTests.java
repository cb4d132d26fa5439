package org.leaderfollowers.sample;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.leaderfollowers.spring.test.LocalLfServerPort;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;

/** Tests the text that an operator sees when the sample cannot be started. */
@OltpTest
@ExtendWith(OutputCaptureExtension.class)
@Timeout(120)
class StartFailureTests {

	@LocalLfServerPort
	private int port;

	@Test
	void secondInstanceOnSamePortSaysWhatToDo(CapturedOutput output) {
		assertFails("--lf.server.port=" + this.port);
		assertThat(output.getAll()).containsSubsequence("APPLICATION FAILED TO START", "Description:",
				"port " + this.port + " is already in use", "Action:", "lf.server.port");
	}

	@Test
	void scaleOutOfRangeIsRefused(CapturedOutput output) {
		assertFails("--lf.server.port=0", "--sample.oltp.scale=0");
		assertThat(output.getAll()).containsSubsequence("APPLICATION FAILED TO START", "sample.oltp.scale",
				"must be greater than or equal to 1");
	}

	private void assertFails(String... arguments) {
		SpringApplication second = new SpringApplication(SampleApplication.class);
		second.setRegisterShutdownHook(false);
		String[] all = new String[arguments.length + 1];
		System.arraycopy(arguments, 0, all, 0, arguments.length);
		all[arguments.length] = "--server.port=0";
		assertThatException().isThrownBy(() -> second.run(all).close());
	}

}
