package org.leaderfollowers.docs.actuator;

import java.io.IOException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.leaderfollowers.spring.actuate.ClientsEndpoint;
import org.leaderfollowers.spring.actuate.ConnectionsEndpoint;
import org.leaderfollowers.spring.actuate.HandOffsEndpoint;
import org.leaderfollowers.spring.actuate.LeaderFollowersDescriptor;
import org.leaderfollowers.spring.actuate.LeaderFollowersDescriptor.LatencyDescriptor;
import org.leaderfollowers.spring.actuate.LeaderFollowersEndpoint;
import org.leaderfollowers.spring.actuate.PoolDescriptor;
import org.leaderfollowers.spring.actuate.ServerDescriptor;
import org.leaderfollowers.spring.actuate.SessionsEndpoint;

import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The chapter has a row for every field of every response, and no row for a field that
 * does not exist.
 */
class ActuatorChapterTests {

	private static final Path CHAPTER = Path.of("src/docs/asciidoc/actuator.adoc");

	private static final Pattern NAME = Pattern.compile("`([^`]+)`");

	/** These types have a table of their own. */
	private static final Set<Class<?>> APART = Set.of(PoolDescriptor.class, ServerDescriptor.class,
			LatencyDescriptor.class, ClientsEndpoint.ClientDescriptor.class, SessionsEndpoint.SessionDescriptor.class);

	@ParameterizedTest
	@MethodSource
	void everyFieldHasItsRowAndTheOtherWayRound(String title, Class<?> answer) throws IOException {
		Set<String> fields = new TreeSet<>();
		collect(answer, "", fields);
		assertThat(documented(title)).isEqualTo(fields);
	}

	static List<Arguments> everyFieldHasItsRowAndTheOtherWayRound() throws ClassNotFoundException {
		return List.of(Arguments.of("`GET /actuator/leaderfollowers`", LeaderFollowersDescriptor.class),
				Arguments.of("A pool", PoolDescriptor.class), Arguments.of("A server", ServerDescriptor.class),
				Arguments.of("How long something took: `handOffs.latency` of a pool, `handling` of a server",
						LatencyDescriptor.class),
				Arguments.of("`GET /actuator/lfhandoffs`", HandOffsEndpoint.HandOffsDescriptor.class),
				Arguments.of("`GET /actuator/lfconnections`", ConnectionsEndpoint.ConnectionsDescriptor.class),
				Arguments.of("`GET /actuator/lfclients`", ClientsEndpoint.ClientsDescriptor.class),
				Arguments.of("`GET /actuator/lfsessions`", SessionsEndpoint.SessionsDescriptor.class),
				Arguments.of("A session", SessionsEndpoint.SessionDescriptor.class),
				Arguments.of("A client", ClientsEndpoint.ClientDescriptor.class), Arguments.of("A refusal",
						Class.forName("org.leaderfollowers.spring.actuate.RefusedRequestException$RefusalDescriptor")));
	}

	@Test
	void everyParameterHasItsRow() throws IOException {
		String chapter = Files.readString(CHAPTER);
		Set<String> parameters = Stream
			.of(LeaderFollowersEndpoint.class, HandOffsEndpoint.class, ConnectionsEndpoint.class, ClientsEndpoint.class,
					SessionsEndpoint.class)
			.flatMap((endpoint) -> Arrays.stream(endpoint.getMethods()))
			.filter((method) -> method.isAnnotationPresent(ReadOperation.class)
					|| method.isAnnotationPresent(WriteOperation.class)
					|| method.isAnnotationPresent(DeleteOperation.class))
			.flatMap((method) -> Arrays.stream(method.getParameters()))
			.filter((parameter) -> !parameter.isAnnotationPresent(Selector.class))
			.map((parameter) -> parameter.getName())
			.collect(Collectors.toCollection(TreeSet::new));
		assertThat(parameters).contains("minThreads", "timeout", "after", "sort");
		assertThat(parameters).allSatisfy((parameter) -> {
			if (!Set.of("action", "timeout").contains(parameter)) {
				assertThat(chapter).contains("\n|`" + parameter + "`\n");
			}
			assertThat(chapter).contains("`" + parameter + "`");
		});
	}

	private static void collect(Type type, String path, Set<String> fields) {
		if (type instanceof ParameterizedType generic) {
			Type[] arguments = generic.getActualTypeArguments();
			boolean map = generic.getRawType() == Map.class;
			collect(arguments[arguments.length - 1], path + (map ? ".*" : "[]"), fields);
		}
		else if (type instanceof Class<?> descriptor && descriptor.isRecord()
				&& (path.isEmpty() || !APART.contains(descriptor))) {
			for (RecordComponent component : descriptor.getRecordComponents()) {
				collect(component.getGenericType(),
						path.isEmpty() ? component.getName() : path + "." + component.getName(), fields);
			}
		}
		else {
			fields.add(path);
		}
	}

	private static Set<String> documented(String title) throws IOException {
		String chapter = Files.readString(CHAPTER);
		int begin = chapter.indexOf("\n." + title + "\n");
		assertThat(begin).as(title).isNotNegative();
		int table = chapter.indexOf("|===", begin);
		String rows = chapter.substring(table, chapter.indexOf("|===", table + 4));
		Set<String> names = new TreeSet<>();
		for (String row : rows.split("\n\n")) {
			Matcher name = NAME.matcher(row.strip().split("\n")[0]);
			while (name.find()) {
				names.add(name.group(1));
			}
		}
		return names;
	}

}
