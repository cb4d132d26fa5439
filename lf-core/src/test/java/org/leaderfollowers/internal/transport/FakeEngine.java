package org.leaderfollowers.internal.transport;

import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.function.BiFunction;

import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLEngineResult.Status;
import javax.net.ssl.SSLSession;

/** Returns the results that the test sets, and counts the calls. */
final class FakeEngine extends SSLEngine {

	/** More than any call of a transport needs. */
	private static final int CALLS = 200;

	private SSLSession session = Certificates.server().createSSLEngine().getSession();

	private final BiFunction<ByteBuffer, ByteBuffer, Status> answer;

	HandshakeStatus handshake;

	Runnable task;

	int calls;

	/** Whether no alert follows the next record. */
	boolean outboundDone;

	FakeEngine(HandshakeStatus handshake, BiFunction<ByteBuffer, ByteBuffer, Status> answer) {
		this.handshake = handshake;
		this.answer = answer;
	}

	void speakTls13() {
		SSLSession original = this.session;
		this.session = (SSLSession) Proxy.newProxyInstance(SSLSession.class.getClassLoader(),
				new Class<?>[] { SSLSession.class },
				(proxy, method, arguments) -> method.getName().equals("getProtocol") ? "TLSv1.3"
						: method.invoke(original, arguments));
	}

	private SSLEngineResult answer(ByteBuffer input, ByteBuffer output) {
		if (++this.calls > CALLS) {
			throw new AssertionError("The transport goes round in circles");
		}
		int before = input.position();
		int written = output.position();
		Status status = this.answer.apply(input, output);
		return new SSLEngineResult(status, this.handshake, input.position() - before, output.position() - written);
	}

	@Override
	public SSLEngineResult wrap(ByteBuffer[] sources, int offset, int length, ByteBuffer output) {
		return answer(sources[offset], output);
	}

	@Override
	public SSLEngineResult unwrap(ByteBuffer input, ByteBuffer[] outputs, int offset, int length) {
		return answer(input, outputs[offset]);
	}

	@Override
	public Runnable getDelegatedTask() {
		Runnable next = this.task;
		this.task = null;
		return next;
	}

	@Override
	public HandshakeStatus getHandshakeStatus() {
		if (++this.calls > CALLS) {
			throw new AssertionError("The transport goes round in circles");
		}
		return this.handshake;
	}

	@Override
	public SSLSession getSession() {
		return this.session;
	}

	@Override
	public void closeInbound() {
	}

	@Override
	public boolean isInboundDone() {
		return false;
	}

	@Override
	public void closeOutbound() {
	}

	@Override
	public boolean isOutboundDone() {
		return this.outboundDone;
	}

	@Override
	public void beginHandshake() {
	}

	@Override
	public String[] getSupportedCipherSuites() {
		return new String[0];
	}

	@Override
	public String[] getEnabledCipherSuites() {
		return new String[0];
	}

	@Override
	public void setEnabledCipherSuites(String[] suites) {
	}

	@Override
	public String[] getSupportedProtocols() {
		return new String[0];
	}

	@Override
	public String[] getEnabledProtocols() {
		return new String[0];
	}

	@Override
	public void setEnabledProtocols(String[] protocols) {
	}

	@Override
	public void setUseClientMode(boolean mode) {
	}

	@Override
	public boolean getUseClientMode() {
		return false;
	}

	@Override
	public void setNeedClientAuth(boolean need) {
	}

	@Override
	public boolean getNeedClientAuth() {
		return false;
	}

	@Override
	public void setWantClientAuth(boolean want) {
	}

	@Override
	public boolean getWantClientAuth() {
		return false;
	}

	@Override
	public void setEnableSessionCreation(boolean flag) {
	}

	@Override
	public boolean getEnableSessionCreation() {
		return true;
	}

}
