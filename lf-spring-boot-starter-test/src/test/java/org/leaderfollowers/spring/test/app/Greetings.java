package org.leaderfollowers.spring.test.app;

import org.springframework.stereotype.Service;

@Service
public class Greetings {

	public String greet(String name) {
		return "Hello " + name;
	}

}
