package org.leaderfollowers.docs.testing;

import java.math.BigDecimal;
import java.util.Optional;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.spring.test.LfHandlerTest;
import org.leaderfollowers.spring.test.LfTestClients;
import org.leaderfollowers.spring.test.client.LfTestClient;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.test.context.bean.override.mockito.MockitoBean;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;

// tag::tests[]
@LfHandlerTest(PriceHandler.class)
class PriceSliceTests {

	@Autowired
	private LfTestClients clients;

	@MockitoBean
	private Prices prices;

	@Test
	void asksForThePriceOfToday() {
		given(this.prices.find("tea")).willReturn(Optional.of(new BigDecimal("2.70")));
		try (LfTestClient client = this.clients.connect()) {
			client.send("tea");
			assertThat(client).receives("costs 2.70");
		}
	}

}
// end::tests[]
