package org.leaderfollowers.docs.testing;

import java.math.BigDecimal;
import java.util.Map;
import java.util.Optional;

import org.springframework.stereotype.Service;

/** Stands for a bean that queries a database. */
@Service
class Prices {

	private final Map<String, BigDecimal> prices = Map.of("tea", new BigDecimal("2.50"));

	Optional<BigDecimal> find(String product) {
		return Optional.ofNullable(this.prices.get(product));
	}

}
