package org.leaderfollowers.spring.observation;

import io.micrometer.common.docs.KeyName;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import io.micrometer.observation.docs.ObservationDocumentation;

/**
 * The observations: of a message while its handler processes it, and of an exchange.
 */
public enum MessageObservationDocumentation implements ObservationDocumentation {

	/**
	 * A handler processes a message.
	 */
	MESSAGE {

		@Override
		public Class<? extends ObservationConvention<? extends Observation.Context>> getDefaultConvention() {
			return DefaultMessageObservationConvention.class;
		}

		@Override
		public KeyName[] getLowCardinalityKeyNames() {
			return LowCardinalityKeyNames.values();
		}

		@Override
		public KeyName[] getHighCardinalityKeyNames() {
			return HighCardinalityKeyNames.values();
		}

	},

	/**
	 * A client sends a request and waits for the reply: a call of a method of an
	 * {@link org.leaderfollowers.spring.annotation.LfClient @LfClient} interface.
	 */
	EXCHANGE {

		@Override
		public Class<? extends ObservationConvention<? extends Observation.Context>> getDefaultConvention() {
			return DefaultExchangeObservationConvention.class;
		}

		@Override
		public KeyName[] getLowCardinalityKeyNames() {
			return ExchangeKeyNames.values();
		}

	};

	/** The key names of exchanges with few values: tags of meters and of spans. */
	public enum ExchangeKeyNames implements KeyName {

		/**
		 * Name of the client.
		 */
		CLIENT {

			@Override
			public String asString() {
				return "client";
			}

		},

		/**
		 * Interface and method that was called, for example {@code Ledger.book}.
		 */
		METHOD {

			@Override
			public String asString() {
				return "method";
			}

		},

		/**
		 * The outcome of the exchange: {@code replied}, {@code timed_out}, {@code lost},
		 * {@code rejected}, {@code cancelled}, or {@code error} for anything else, such
		 * as an invalid reply.
		 */
		OUTCOME {

			@Override
			public String asString() {
				return "outcome";
			}

		}

	}

	/**
	 * The key names with few values, all of which come from the configuration: tags of
	 * meters and of spans.
	 */
	public enum LowCardinalityKeyNames implements KeyName {

		/**
		 * Name of the server that received the message.
		 */
		SERVER {

			@Override
			public String asString() {
				return "server";
			}

		},

		/**
		 * Name of the handler bean.
		 */
		HANDLER {

			@Override
			public String asString() {
				return "handler";
			}

		},

		/**
		 * Whether the handler has returned ({@code success}) or thrown an exception
		 * ({@code error}).
		 */
		OUTCOME {

			@Override
			public String asString() {
				return "outcome";
			}

		}

	}

	/** The key names with many values: tags of spans only. */
	public enum HighCardinalityKeyNames implements KeyName {

		/** Number of the connection of the message, which log lines contain as well. */
		CONNECTION {

			@Override
			public String asString() {
				return "connection";
			}

		}

	}

}
