package org.leaderfollowers.spring.handler;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import kotlin.reflect.KFunction;
import kotlin.reflect.KParameter;
import kotlin.reflect.jvm.KCallablesJvm;
import kotlin.reflect.jvm.ReflectJvmMapping;
import org.jspecify.annotations.Nullable;

/**
 * A function of Kotlin whose parameters have default values: those take the place of
 * arguments that are missing. The only class here that needs Kotlin, with its reflection.
 */
final class KotlinDefaults {

	private static final MethodHandle INVOKE;

	static {
		try {
			INVOKE = MethodHandles.lookup()
				.findVirtual(KotlinDefaults.class, "invoke", MethodType.methodType(Object.class, Object[].class));
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
	}

	private final Object bean;

	private final KFunction<?> function;

	private final MethodHandle otherwise;

	/** The parameters in the order of the arguments. */
	private final List<KParameter> parameters;

	private KotlinDefaults(Object bean, KFunction<?> function, MethodHandle otherwise) {
		this.bean = bean;
		this.function = function;
		this.otherwise = otherwise;
		this.parameters = function.getParameters()
			.stream()
			.filter((parameter) -> parameter.getKind() == KParameter.Kind.VALUE)
			.toList();
	}

	/**
	 * Makes a handle that knows the default values.
	 * @param method a method of a Kotlin class
	 * @param bean what to call it on
	 * @param otherwise calls it with all arguments, of type {@code (Object[])Object}
	 * @return a handle of the same type; the given one if there are no default values
	 */
	static MethodHandle bind(Method method, Object bean, MethodHandle otherwise) {
		KFunction<?> function = ReflectJvmMapping.getKotlinFunction(method);
		if (function == null || !method.getDeclaringClass().isInstance(bean)
				|| function.getParameters().stream().noneMatch(KParameter::isOptional)) {
			return otherwise;
		}
		KCallablesJvm.setAccessible(function, true);
		return INVOKE.bindTo(new KotlinDefaults(bean, function, otherwise));
	}

	@Nullable Object invoke(@Nullable Object[] arguments) throws Throwable {
		boolean missing = false;
		for (int i = 0; i < arguments.length; i++) {
			missing |= isMissing(arguments, i);
		}
		if (!missing) {
			return (Object) this.otherwise.invokeExact(arguments);
		}
		Map<KParameter, @Nullable Object> byParameter = new HashMap<>();
		for (KParameter parameter : this.function.getParameters()) {
			if (parameter.getKind() == KParameter.Kind.INSTANCE) {
				byParameter.put(parameter, this.bean);
			}
		}
		for (int i = 0; i < arguments.length; i++) {
			if (!isMissing(arguments, i)) {
				byParameter.put(this.parameters.get(i), arguments[i]);
			}
		}
		try {
			return nothing(this.function.callBy(byParameter));
		}
		catch (Exception ex) {
			// Kotlin does not declare what it throws.
			throw (ex instanceof InvocationTargetException wrapper) ? wrapper.getTargetException() : ex;
		}
	}

	private boolean isMissing(@Nullable Object[] arguments, int index) {
		return arguments[index] == null && this.parameters.get(index).isOptional();
	}

	/** What a function returns that returns nothing. */
	private static @Nullable Object nothing(@Nullable Object result) {
		return (result == kotlin.Unit.INSTANCE) ? null : result;
	}

}
