package org.leaderfollowers.docs.site;

import java.io.StringReader;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.DumperOptions;
import org.yaml.snakeyaml.DumperOptions.FlowStyle;
import org.yaml.snakeyaml.DumperOptions.ScalarStyle;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.comments.CommentLine;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeId;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.SequenceNode;
import org.yaml.snakeyaml.nodes.Tag;
import org.yaml.snakeyaml.resolver.Resolver;

/**
 * Configuration of Spring Boot as YAML and as properties. Both formats have the same
 * content, including comments before keys.
 */
final class ConfigurationFormats {

	private static final Set<String> ROOTS = Set.of("lf", "logging", "management", "server", "spring");

	private ConfigurationFormats() {
	}

	/**
	 * Whether YAML is the configuration of an application; not that of Prometheus, for
	 * example.
	 */
	static boolean isConfiguration(String yaml) {
		List<Node> documents = compose(yaml);
		return !documents.isEmpty() && documents.stream()
			.allMatch((document) -> document instanceof MappingNode mapping && mapping.getValue()
				.stream()
				.allMatch((entry) -> ROOTS.contains(((ScalarNode) entry.getKeyNode()).getValue())));
	}

	static String toProperties(String yaml) {
		List<String> documents = new ArrayList<>();
		for (Node document : compose(yaml)) {
			StringBuilder lines = new StringBuilder();
			append(lines, "", document);
			documents.add(lines.toString().stripTrailing());
		}
		return String.join("\n#---\n", documents);
	}

	private static List<Node> compose(String yaml) {
		LoaderOptions options = new LoaderOptions();
		options.setProcessComments(true);
		List<Node> documents = new ArrayList<>();
		new Yaml(options).composeAll(new StringReader(yaml)).forEach(documents::add);
		return documents;
	}

	private static void append(StringBuilder lines, String name, Node node) {
		if (node instanceof MappingNode mapping) {
			for (NodeTuple entry : mapping.getValue()) {
				appendComments(lines, entry.getKeyNode().getBlockComments());
				String key = ((ScalarNode) entry.getKeyNode()).getValue();
				append(lines, (name.isEmpty() || key.startsWith("[")) ? name + key : name + "." + key,
						entry.getValueNode());
			}
		}
		else if (node instanceof SequenceNode sequence) {
			int index = 0;
			for (Node element : sequence.getValue()) {
				append(lines, name + "[" + index++ + "]", element);
			}
		}
		else {
			String value = ((ScalarNode) node).getValue().replace("\\", "\\\\").replace("\n", "\\n");
			lines.append(name.replaceAll("[ =:]", "\\\\$0")).append('=').append(value).append('\n');
		}
	}

	private static void appendComments(StringBuilder lines, @Nullable List<CommentLine> comments) {
		if (comments != null) {
			comments.forEach((comment) -> lines.append(("#" + comment.getValue()).stripTrailing()).append('\n'));
		}
	}

	static String toYaml(String properties) {
		MappingNode root = mapping();
		for (String line : properties.lines().toList()) {
			int separator = line.indexOf('=');
			if (separator < 0) {
				throw new IllegalArgumentException("Not a property: '" + line + "'");
			}
			put(root, line.substring(0, separator).split("\\."), line.substring(separator + 1));
		}
		DumperOptions options = new DumperOptions();
		options.setDefaultFlowStyle(FlowStyle.BLOCK);
		options.setWidth(Integer.MAX_VALUE);
		StringWriter yaml = new StringWriter();
		new Yaml(options).serialize(root, yaml);
		return yaml.toString().stripTrailing();
	}

	private static void put(MappingNode root, String[] path, String value) {
		MappingNode parent = root;
		for (int depth = 0; depth < path.length - 1; depth++) {
			parent = child(parent, path[depth]);
		}
		parent.getValue().add(new NodeTuple(scalar(path[path.length - 1]), scalar(value)));
	}

	private static MappingNode child(MappingNode parent, String key) {
		for (NodeTuple entry : parent.getValue()) {
			if (((ScalarNode) entry.getKeyNode()).getValue().equals(key)) {
				return (MappingNode) entry.getValueNode();
			}
		}
		MappingNode child = mapping();
		parent.getValue().add(new NodeTuple(scalar(key), child));
		return child;
	}

	private static MappingNode mapping() {
		return new MappingNode(Tag.MAP, new ArrayList<>(), FlowStyle.BLOCK);
	}

	private static ScalarNode scalar(String value) {
		Tag tag = new Resolver().resolve(NodeId.scalar, value, true);
		// Indicators of YAML, such as an asterisk, are plain text in a property; YAML
		// needs quotes for them.
		return new ScalarNode(tag.equals(Tag.YAML) ? Tag.STR : tag, value, null, null, ScalarStyle.PLAIN);
	}

}
