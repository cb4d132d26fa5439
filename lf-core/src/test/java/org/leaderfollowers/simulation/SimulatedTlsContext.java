package org.leaderfollowers.simulation;

import java.lang.reflect.Proxy;
import java.security.SecureRandom;

import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLContextSpi;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSession;
import javax.net.ssl.SSLSessionContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;

import org.jspecify.annotations.Nullable;

/** Creates simulated TLS engines. The seed chooses one version of TLS for all of them. */
public final class SimulatedTlsContext extends SSLContext {

	private final Simulator simulator;

	private final SSLSession session;

	private final boolean tls13;

	/** Creates the context of a run. */
	public SimulatedTlsContext(Simulator simulator) {
		this(simulator, simulator.choose(2) == 0);
	}

	private SimulatedTlsContext(Simulator simulator, boolean tls13) {
		this(simulator, tls13, session(tls13));
	}

	private SimulatedTlsContext(Simulator simulator, boolean tls13, SSLSession session) {
		super(new Engines(() -> new SimulatedTls(simulator, session, tls13, true)), null, "simulated");
		this.simulator = simulator;
		this.tls13 = tls13;
		this.session = session;
	}

	private static SSLSession session(boolean tls13) {
		return (SSLSession) Proxy.newProxyInstance(SimulatedTlsContext.class.getClassLoader(),
				new Class<?>[] { SSLSession.class }, (proxy, method, arguments) -> {
					if (!method.getName().equals("getProtocol")) {
						throw new UnsupportedOperationException(method.getName());
					}
					return tls13 ? "TLSv1.3" : "TLSv1.2";
				});
	}

	/** Whether the version is TLS 1.3, otherwise it is TLS 1.2. */
	boolean isTls13() {
		return this.tls13;
	}

	/** Creates the end of a peer, which has no thread that could execute tasks. */
	SimulatedTls peer() {
		SimulatedTls end = new SimulatedTls(this.simulator, this.session, this.tls13, false);
		end.setUseClientMode(true);
		return end;
	}

	private interface Source {

		SSLEngine next();

	}

	private static final class Engines extends SSLContextSpi {

		private final Source source;

		Engines(Source source) {
			this.source = source;
		}

		@Override
		protected SSLEngine engineCreateSSLEngine() {
			return this.source.next();
		}

		@Override
		protected SSLEngine engineCreateSSLEngine(String host, int port) {
			return this.source.next();
		}

		@Override
		protected void engineInit(KeyManager[] keys, TrustManager[] trust, @Nullable SecureRandom random) {
		}

		@Override
		protected SSLSocketFactory engineGetSocketFactory() {
			throw new UnsupportedOperationException();
		}

		@Override
		protected SSLServerSocketFactory engineGetServerSocketFactory() {
			throw new UnsupportedOperationException();
		}

		@Override
		protected @Nullable SSLSessionContext engineGetServerSessionContext() {
			return null;
		}

		@Override
		protected @Nullable SSLSessionContext engineGetClientSessionContext() {
			return null;
		}

	}

}
