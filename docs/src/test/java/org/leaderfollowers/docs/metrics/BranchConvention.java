package org.leaderfollowers.docs.metrics;

import io.micrometer.common.KeyValues;
import org.leaderfollowers.spring.observation.DefaultMessageObservationConvention;
import org.leaderfollowers.spring.observation.MessageObservationContext;

// tag::convention[]
class BranchConvention extends DefaultMessageObservationConvention {

	private final String branch;

	BranchConvention(String branch) {
		this.branch = branch;
	}

	@Override
	public KeyValues getLowCardinalityKeyValues(MessageObservationContext context) {
		return super.getLowCardinalityKeyValues(context).and("branch", this.branch); // <1>
	}

	@Override
	public KeyValues getHighCardinalityKeyValues(MessageObservationContext context) {
		Object till = context.getConnection().attributes().get("till"); // <2>
		return super.getHighCardinalityKeyValues(context).and("till", String.valueOf(till));
	}

}
// end::convention[]
