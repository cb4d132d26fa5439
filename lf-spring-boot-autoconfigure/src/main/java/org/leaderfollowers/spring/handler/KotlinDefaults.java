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
 * Calls a Kotlin function whose parameters have default values, which replace missing
 * arguments. No other class of this package needs Kotlin reflection, which is optional.
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
	 * Creates a handle that uses the default values.
	 * @param method a method of a Kotlin class
	 * @param bean the object on which the method is called
	 * @param otherwise calls the method with all arguments, of type
	 * {@code (Object[])Object}
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
			// callBy throws checked exceptions without declaring them.
			throw (ex instanceof InvocationTargetException wrapper) ? wrapper.getTargetException() : ex;
		}
	}

	private boolean isMissing(@Nullable Object[] arguments, int index) {
		return arguments[index] == null && this.parameters.get(index).isOptional();
	}

	/**
	 * Converts Unit, the result of a function without a return value, to {@code null}.
	 */
	private static @Nullable Object nothing(@Nullable Object result) {
		return (result == kotlin.Unit.INSTANCE) ? null : result;
	}

}
