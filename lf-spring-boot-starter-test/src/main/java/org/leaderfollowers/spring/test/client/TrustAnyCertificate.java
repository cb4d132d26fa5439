package org.leaderfollowers.spring.test.client;

import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.cert.X509Certificate;

import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

import org.jspecify.annotations.Nullable;

/** Trusts every server. For tests, whose servers are their own. */
final class TrustAnyCertificate extends X509ExtendedTrustManager {

	static SSLContext sslContext() {
		try {
			SSLContext context = SSLContext.getInstance("TLS");
			context.init(null, new TrustManager[] { new TrustAnyCertificate() }, null);
			return context;
		}
		catch (GeneralSecurityException ex) {
			throw new IllegalStateException("This JDK has no TLS", ex);
		}
	}

	@Override
	public void checkClientTrusted(X509Certificate[] chain, String authType, @Nullable Socket socket) {
	}

	@Override
	public void checkServerTrusted(X509Certificate[] chain, String authType, @Nullable Socket socket) {
	}

	@Override
	public void checkClientTrusted(X509Certificate[] chain, String authType, @Nullable SSLEngine engine) {
	}

	@Override
	public void checkServerTrusted(X509Certificate[] chain, String authType, @Nullable SSLEngine engine) {
	}

	@Override
	public void checkClientTrusted(X509Certificate[] chain, String authType) {
	}

	@Override
	public void checkServerTrusted(X509Certificate[] chain, String authType) {
	}

	@Override
	public X509Certificate[] getAcceptedIssuers() {
		return new X509Certificate[0];
	}

}
