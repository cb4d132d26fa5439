package org.leaderfollowers.docs.handlers;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.springframework.stereotype.Component;

/**
 * What several handlers share.
 */
@Component
record Shelves(Map<String, Integer> counts) {

	Shelves() {
		this(new ConcurrentHashMap<>());
	}

}
