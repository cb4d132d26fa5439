package org.leaderfollowers.benchmarks.attack;

import java.io.IOException;
import java.nio.file.Files;
import java.util.logging.Level;
import java.util.logging.Logger;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import org.apache.catalina.Context;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;
import org.apache.tomcat.util.net.SSLHostConfig;
import org.apache.tomcat.util.net.SSLHostConfigCertificate;

/**
 * Tomcat with its defaults, and the timeout of 20 seconds that its own configuration file
 * has. It does not limit the number of requests of a connection, as the others do not.
 * Its protocol is HTTP/1.1, and a message is a body.
 */
final class TomcatTarget {

	private static final String CONNECTION_TIMEOUT_MS = "20000";

	private TomcatTarget() {
	}

	static String start(Certificate certificate) throws IOException, LifecycleException {
		Logger.getLogger("org.apache").setLevel(Level.WARNING);
		Tomcat tomcat = new Tomcat();
		tomcat.setBaseDir(
				Files.createTempDirectory(certificate.file().toAbsolutePath().getParent(), "tomcat").toString());
		Context context = tomcat.addContext("", null);
		Tomcat.addServlet(context, "echo", new Echo());
		context.addServletMappingDecoded("/echo", "echo");
		Connector plain = connector();
		Connector tls = connector();
		tls.setScheme("https");
		tls.setSecure(true);
		tls.setProperty("SSLEnabled", "true");
		SSLHostConfig host = new SSLHostConfig();
		SSLHostConfigCertificate key = new SSLHostConfigCertificate(host, SSLHostConfigCertificate.Type.UNDEFINED);
		key.setCertificateKeystoreFile(certificate.file().toAbsolutePath().toString());
		key.setCertificateKeystorePassword(Certificate.PASSWORD);
		key.setCertificateKeystoreType("PKCS12");
		host.addCertificate(key);
		tls.addSslHostConfig(host);
		tomcat.setConnector(plain);
		tomcat.getService().addConnector(tls);
		tomcat.start();
		return plain.getLocalPort() + " " + tls.getLocalPort();
	}

	private static Connector connector() {
		Connector connector = new Connector();
		connector.setPort(0);
		connector.setProperty("address", "127.0.0.1");
		connector.setProperty("connectionTimeout", CONNECTION_TIMEOUT_MS);
		// By default it closes a connection after 100 requests, which is no failure
		connector.setProperty("maxKeepAliveRequests", "-1");
		return connector;
	}

	private static final class Echo extends HttpServlet {

		private static final long serialVersionUID = 1L;

		@Override
		protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
			byte[] body = request.getInputStream().readNBytes(Wire.LONGEST);
			response.setContentLength(body.length);
			response.getOutputStream().write(body);
		}

	}

}
