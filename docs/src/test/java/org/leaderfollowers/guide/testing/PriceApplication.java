package org.leaderfollowers.guide.testing;

import org.springframework.boot.autoconfigure.SpringBootApplication;

@SpringBootApplication
class PriceApplication {

}
