// The Actuator listens on the same machine as this page, on a port of its own.
for (const link of document.querySelectorAll("a[data-port]")) {
	link.hostname = location.hostname;
	link.port = link.dataset.port;
}
