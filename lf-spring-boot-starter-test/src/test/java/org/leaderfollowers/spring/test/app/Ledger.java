package org.leaderfollowers.spring.test.app;

import java.util.concurrent.CompletableFuture;

import jakarta.validation.Valid;
import jakarta.validation.constraints.Min;
import org.leaderfollowers.spring.annotation.Exchange;
import org.leaderfollowers.spring.annotation.LfClient;

@LfClient("ledger")
interface Ledger {

	@Exchange(timeout = "${ledger.timeout:30s}")
	Entry book(@Valid Entry entry);

	@Exchange(timeout = "30s")
	CompletableFuture<String> note(String text);

	@Exchange(timeout = "1ms")
	String hurry(String text);

	record Entry(String account, @Min(1) int amount) {
	}

}
