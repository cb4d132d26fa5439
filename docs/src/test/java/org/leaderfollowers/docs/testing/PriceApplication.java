package org.leaderfollowers.docs.testing;

import org.springframework.boot.autoconfigure.SpringBootApplication;

@SpringBootApplication
class PriceApplication {

}
