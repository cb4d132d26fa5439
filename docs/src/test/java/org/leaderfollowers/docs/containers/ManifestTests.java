package org.leaderfollowers.docs.containers;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import io.kubernetes.client.openapi.models.V1Container;
import io.kubernetes.client.openapi.models.V1Deployment;
import io.kubernetes.client.openapi.models.V1NetworkPolicy;
import io.kubernetes.client.openapi.models.V1PodDisruptionBudget;
import io.kubernetes.client.openapi.models.V1Service;
import io.kubernetes.client.openapi.models.V2HorizontalPodAutoscaler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * The manifests of the chapter about containers conform to the API of Kubernetes, as the
 * models of its Java client describe it, and belong together.
 */
class ManifestTests {

	private static final Map<String, Class<?>> MODELS = Map.of("apps/v1 Deployment", V1Deployment.class, "v1 Service",
			V1Service.class, "policy/v1 PodDisruptionBudget", V1PodDisruptionBudget.class,
			"networking.k8s.io/v1 NetworkPolicy", V1NetworkPolicy.class, "autoscaling/v2 HorizontalPodAutoscaler",
			V2HorizontalPodAutoscaler.class);

	/** The operator of Prometheus defines this type, so no model of Kubernetes has it. */
	private static final String SERVICE_MONITOR = "monitoring.coreos.com/v1 ServiceMonitor";

	private static void validate(Class<?> model, Object document) {
		try {
			model.getMethod("validateJsonElement", JsonElement.class).invoke(null, new Gson().toJsonTree(document));
		}
		catch (InvocationTargetException ex) {
			if (ex.getCause() instanceof IllegalArgumentException failure) {
				throw failure;
			}
			throw new IllegalStateException(ex);
		}
		catch (ReflectiveOperationException ex) {
			throw new IllegalStateException(ex);
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "deployment", "disruption-budget", "network-policy", "service-monitor", "autoscaler" })
	void manifestsConformToTheApi(String file) throws IOException {
		List<Map<String, Object>> documents = Manifests.documents("containers/" + file + ".yaml");
		assertThat(documents).isNotEmpty();
		for (Map<String, Object> document : documents) {
			String type = document.get("apiVersion") + " " + document.get("kind");
			if (!type.equals(SERVICE_MONITOR)) {
				assertThat(MODELS).containsKey(type);
				validate(MODELS.get(type), document);
			}
		}
	}

	@Test
	void theHookConformsToTheApi() throws IOException {
		Map<String, Object> container = new HashMap<>(Manifests.documents("containers/pre-stop.yaml").get(0));
		container.put("name", "terminals");
		validate(V1Container.class, container);
	}

	@Test
	void aFieldThatDoesNotExistIsNoticed() {
		Map<String, Object> container = Map.of("name", "terminals", "livenessProbe", Map.of("timeoutSecond", 3));
		assertThatIllegalArgumentException().isThrownBy(() -> validate(V1Container.class, container))
			.withMessageContaining("timeoutSecond");
	}

	@Test
	void selectorsAndPortsAgree() throws IOException {
		Map<String, Object> deployment = Manifests.documents("containers/deployment.yaml").get(0);
		Object labels = Manifests.at(deployment, "spec", "template", "metadata", "labels");
		assertThat(labels).isEqualTo(Map.of("app", "terminals"));
		assertThat(Manifests.at(deployment, "spec", "selector", "matchLabels")).isEqualTo(labels);
		assertThat(Manifests.at(Manifests.documents("containers/deployment.yaml").get(1), "spec", "selector"))
			.isEqualTo(labels);
		assertThat(Manifests.at(Manifests.documents("containers/disruption-budget.yaml").get(0), "spec", "selector",
				"matchLabels"))
			.isEqualTo(labels);
		Map<String, Object> policy = Manifests.documents("containers/network-policy.yaml").get(0);
		assertThat(Manifests.at(policy, "spec", "podSelector", "matchLabels")).isEqualTo(labels);
		Object ports = Manifests.at(deployment, "spec", "template", "spec", "containers", 0, "ports");
		for (int i = 0; i < 2; i++) {
			assertThat(Manifests.at(policy, "spec", "ingress", i, "ports", 0, "port")).isNotNull()
				.isEqualTo(Manifests.at(ports, i, "name"));
		}
	}

	@Test
	void theServiceMonitorFindsItsService() throws IOException {
		List<Map<String, Object>> documents = Manifests.documents("containers/service-monitor.yaml");
		Map<String, Object> service = documents.get(0);
		Map<String, Object> monitor = documents.get(1);
		assertThat(monitor).containsOnlyKeys("apiVersion", "kind", "metadata", "spec");
		assertThat(monitor.get("apiVersion") + " " + monitor.get("kind")).isEqualTo(SERVICE_MONITOR);
		assertThat(Manifests.at(service, "metadata", "labels", "scrape")).isNotNull()
			.isEqualTo(Manifests.at(monitor, "spec", "selector", "matchLabels", "scrape"));
		assertThat(Manifests.at(service, "metadata", "labels", Manifests.at(monitor, "spec", "jobLabel"))).isNotNull();
		assertThat(Manifests.at(monitor, "spec", "endpoints", 0, "port")).isNotNull()
			.isEqualTo(Manifests.at(service, "spec", "ports", 0, "name"));
		assertThat(Manifests.at(service, "spec", "ports", 0, "targetPort")).isEqualTo("actuator");
	}

	@Test
	void theAutoscalerScalesTheDeployment() throws IOException {
		Map<String, Object> deployment = Manifests.documents("containers/deployment.yaml").get(0);
		Map<String, Object> autoscaler = Manifests.documents("containers/autoscaler.yaml").get(0);
		assertThat(Manifests.at(autoscaler, "spec", "scaleTargetRef")).isEqualTo(Map.of("apiVersion", "apps/v1", "kind",
				"Deployment", "name", Manifests.at(deployment, "metadata", "name")));
		assertThat(Manifests.at(autoscaler, "spec", "minReplicas"))
			.isEqualTo(Manifests.at(deployment, "spec", "replicas"));
	}

}
