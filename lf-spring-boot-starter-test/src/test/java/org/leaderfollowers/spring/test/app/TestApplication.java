package org.leaderfollowers.spring.test.app;

import org.springframework.boot.autoconfigure.SpringBootApplication;

@SpringBootApplication
class TestApplication {

}
