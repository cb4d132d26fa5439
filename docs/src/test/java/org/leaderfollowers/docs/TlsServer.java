package org.leaderfollowers.docs;

import java.io.File;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.X509Certificate;

import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import javax.net.ssl.TrustManagerFactory;

import org.leaderfollowers.ClientAuth;
import org.leaderfollowers.Connection;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.ServerTls;
import org.leaderfollowers.TcpServer;

final class TlsServer {

	private TlsServer() {
	}

	// tag::context[]
	static SSLContext context(File keyStore, File trustStore, char[] password)
			throws GeneralSecurityException, IOException {
		KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
		keys.init(KeyStore.getInstance(keyStore, password), password);
		TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
		trust.init(KeyStore.getInstance(trustStore, password));
		SSLContext context = SSLContext.getInstance("TLS");
		context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
		return context;
	}
	// end::context[]

	static TcpServer start(LeaderFollowersPool pool, SSLContext context, MessageHandler handler) {
		// tag::server[]
		TcpServer server = TcpServer.builder(pool)
			.port(0)
			.framing(Framing.line())
			.tls(ServerTls.of(context).clientAuth(ClientAuth.WANT))
			.handler(handler)
			.build();
		server.start();
		// end::server[]
		return server;
	}

	static void renew(TcpServer server, SSLContext renewed) {
		// tag::renew[]
		server.tls(ServerTls.of(renewed).clientAuth(ClientAuth.WANT));
		// end::renew[]
	}

	// tag::who[]
	static String whoIs(Connection connection) {
		SSLSession session = connection.sslSession();
		if (session == null) {
			return "somebody, in the clear";
		}
		try {
			X509Certificate certificate = (X509Certificate) session.getPeerCertificates()[0];
			return certificate.getSubjectX500Principal().getName() + ", by " + session.getProtocol();
		}
		catch (SSLPeerUnverifiedException ex) {
			return "somebody, by " + session.getProtocol();
		}
	}
	// end::who[]

}
