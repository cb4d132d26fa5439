package org.leaderfollowers.docs.login;

import org.springframework.security.access.prepost.PreAuthorize;
import org.springframework.stereotype.Service;

// tag::service[]
@Service
class Heating {

	private volatile double degrees = 20.5;

	double degrees() {
		return this.degrees;
	}

	@PreAuthorize("hasRole('OPERATOR')")
	void set(double degrees) {
		this.degrees = degrees;
	}

}
// end::service[]
