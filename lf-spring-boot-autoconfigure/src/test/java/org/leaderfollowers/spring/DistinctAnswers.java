package org.leaderfollowers.spring;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.mockito.invocation.InvocationOnMock;
import org.mockito.stubbing.Answer;

import org.springframework.core.ResolvableType;

import static org.mockito.Mockito.mock;

/**
 * Answers each method of a mock with a value of its own, always with the same: a test
 * notices when one value is taken for another one. Objects are mocks of the same kind.
 */
public final class DistinctAnswers implements Answer<@Nullable Object> {

	private static final AtomicInteger last = new AtomicInteger();

	private final Map<List<Object>, Object> answers = new ConcurrentHashMap<>();

	@Override
	public @Nullable Object answer(InvocationOnMock call) {
		if (call.getMethod().getReturnType() == void.class) {
			return null;
		}
		return this.answers.computeIfAbsent(List.of(call.getMethod().getName(), List.of(call.getArguments())),
				(key) -> answer(ResolvableType.forMethodReturnType(call.getMethod())));
	}

	private static Object answer(ResolvableType type) {
		int number = last.incrementAndGet();
		Class<?> raw = type.toClass();
		if (raw.isEnum()) {
			Object[] constants = raw.getEnumConstants();
			return Stream.of(constants)
				.filter((constant) -> constant.toString().equals("RUNNING"))
				.findFirst()
				.orElse(constants[0]);
		}
		if (raw == List.class) {
			return List.of(answer(type.getGeneric()), answer(type.getGeneric()));
		}
		if (raw == Map.class) {
			Object[] keys = type.getGeneric(0).toClass().getEnumConstants();
			return Stream.of((keys != null) ? keys : new Object[] { answer(type.getGeneric(0)) })
				.collect(Collectors.toMap(Function.identity(), (key) -> answer(type.getGeneric(1))));
		}
		return switch (raw.getSimpleName()) {
			case "int", "Integer" -> number;
			case "long", "Long" -> (long) number;
			case "boolean" -> true;
			case "String" -> "text " + number;
			case "Duration" -> Duration.ofMillis(number);
			case "Instant" -> Instant.ofEpochSecond(number);
			default -> mock(raw, new DistinctAnswers());
		};
	}

}
