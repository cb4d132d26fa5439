package org.leaderfollowers.spring.handler;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.List;
import java.util.Optional;

import jakarta.validation.Constraint;
import jakarta.validation.ConstraintValidator;
import jakarta.validation.ConstraintValidatorContext;
import jakarta.validation.Payload;
import jakarta.validation.Valid;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Size;
import jakarta.validation.constraintvalidation.SupportedValidationTarget;
import jakarta.validation.constraintvalidation.ValidationTarget;
import org.aopalliance.intercept.MethodInterceptor;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.validation.Validator;
import org.springframework.validation.annotation.Validated;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.Mockito.mock;

/**
 * Constraints of the parameters of handler methods.
 */
class ConstraintTests {

	@Test
	void constraintsOfAPayloadThatIsNoBean() {
		HandlerRunner.talk(HandlerRunner.of(Codes.class), (client, context) -> {
			assertThat(client.ask("SET abc")).isEqualTo("set abc");
			assertThat(client.ask("SET toolong")).isEqualTo("The payload 'code' is not valid: Size");
			assertThat(client.ask("GET  ")).isEqualTo("The payload 'code' is not valid: NotBlank");
			assertThat(client.ask("GET x")).isEqualTo("get x");
		});
	}

	@Test
	void elementsOfAList() {
		HandlerRunner.talk(HandlerRunner.of(Lists.class), (client, context) -> {
			assertThat(client.ask("ORDERS [{\"item\":\"tea\",\"quantity\":1}]")).isEqualTo("1 orders");
			assertThat(client.ask("ORDERS [{\"item\":\"tea\",\"quantity\":1},{\"item\":\"\",\"quantity\":0}]"))
				.isEqualTo("The payload 'orders' is not valid: [1].item (NotBlank), [1].quantity (Min)");
			assertThat(client.ask("NAMES [\"a\",\" \"]")).isEqualTo("The payload 'names' is not valid: [1] (NotBlank)");
		});
	}

	@Test
	void headersAndABeanTogether() {
		HandlerRunner.talk(HandlerRunner.of(Headers.class), (client, context) -> {
			assertThat(client.ask("{\"item\":\"tea\",\"quantity\":1}")).isEqualTo("tea for abc");
			assertThat(client.ask("{\"item\":\"tea\",\"quantity\":0}"))
				.isEqualTo("The payload 'order' is not valid: quantity (Min), tenant (Size)");
		});
	}

	@Test
	void constraintOfAllParametersTogether() {
		HandlerRunner.talk(HandlerRunner.of(Renaming.class), (client, context) -> {
			assertThat(client.ask("new")).isEqualTo("new for old");
			assertThat(client.ask("old")).isEqualTo("The payload 'rename' is not valid: Distinct");
		});
	}

	@Test
	void groupsOfThePayload() {
		HandlerRunner.talk(HandlerRunner.of(Grouped.class), (client, context) -> {
			assertThat(client.ask("ab")).isEqualTo("ab");
			assertThat(client.ask("abcd")).isEqualTo("The payload 'code' is not valid: Size");
		});
		HandlerRunner.talk(HandlerRunner.of(GroupedBean.class), (client, context) -> {
			assertThat(client.ask("{\"code\":\"ab\"}")).isEqualTo("ab");
			assertThat(client.ask("{\"code\":\"abcd\"}")).isEqualTo("The payload 'coupon' is not valid: code (Size)");
		});
	}

	@Test
	void payloadThatIsOptional() {
		HandlerRunner.talk(HandlerRunner.of(MaybeOrder.class), (client, context) -> {
			assertThat(client.ask("")).isEqualTo("nothing");
			assertThat(client.ask("{\"item\":\"tea\",\"quantity\":0}")).endsWith(" is not valid: quantity (Min)");
		});
	}

	@Test
	void handlerBehindAProxyOfInterfaces() {
		HandlerRunner.talk(HandlerRunner.of(ByInterface.class).withBean(Proxies.class), (client, context) -> {
			assertThat(client.ask("abc")).isEqualTo("abc");
			assertThat(client.ask("toolong")).isEqualTo("The payload 'code' is not valid: Size");
		});
	}

	@Test
	void constraintsThatNothingChecksFailTheStart() {
		ApplicationContextRunner runner = new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
			.withPropertyValues("lf.server.port=0")
			.withUserConfiguration(Codes.class);
		String mistake = "Method get(String) has constraints on the parameter 'String code', but there is no validator that checks them";
		runner.run((context) -> assertThat(context).getFailure().rootCause().hasMessageContaining(mistake));
		runner.withBean(Validator.class, () -> mock(Validator.class))
			.run((context) -> assertThat(context).getFailure().rootCause().hasMessageContaining(mistake));
	}

	@Test
	void constraintsThatAProxyChecksNeedNoValidator() {
		new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
			.withPropertyValues("lf.server.port=0")
			.withUserConfiguration(CheckedByAProxy.class)
			.run((context) -> assertThat(context).hasNotFailed());
	}

	static class Explaining {

		@OnError
		public String invalid(PayloadValidationException ex) {
			return String.valueOf(ex.getMessage());
		}

	}

	@LfHandler
	static class Codes extends Explaining {

		@OnMessage(prefix = "SET ")
		String set(@Valid @Size(max = 3) String code) {
			return "set " + code;
		}

		@OnMessage(prefix = "GET ")
		String get(@NotBlank String code) {
			return "get " + code;
		}

	}

	record Order(@NotBlank String item, @Min(1) int quantity) {
	}

	@LfHandler
	static class Lists extends Explaining {

		@OnMessage(prefix = "ORDERS ")
		String orders(@Valid List<Order> orders) {
			return orders.size() + " orders";
		}

		@OnMessage(prefix = "NAMES ")
		String names(List<@NotBlank String> names) {
			return names.size() + " names";
		}

	}

	@LfHandler
	static class Headers extends Explaining {

		@OnMessage
		String place(@Valid Order order, @Header(defaultValue = "abc") @Size(max = 3) String tenant,
				Connection connection) {
			connection.attributes().put("tenant", "toolong");
			return order.item() + " for " + tenant;
		}

	}

	@Constraint(validatedBy = DistinctValidator.class)
	@Retention(RetentionPolicy.RUNTIME)
	@interface Distinct {

		String message() default "must differ";

		Class<?>[] groups() default {};

		Class<? extends Payload>[] payload() default {};

	}

	@SupportedValidationTarget(ValidationTarget.PARAMETERS)
	static class DistinctValidator implements ConstraintValidator<Distinct, Object[]> {

		@Override
		public boolean isValid(Object[] arguments, ConstraintValidatorContext context) {
			return !arguments[0].equals(arguments[1]);
		}

	}

	@LfHandler
	static class Renaming extends Explaining {

		@OnMessage
		@Distinct
		String rename(String name, @Header(defaultValue = "old") String former) {
			return name + " for " + former;
		}

	}

	interface Strict {

	}

	@LfHandler
	static class Grouped extends Explaining {

		@OnMessage
		String take(@Validated(Strict.class) @Size(max = 3, groups = Strict.class) @Size(max = 1) String code) {
			return code;
		}

	}

	record Coupon(@Size(max = 3, groups = Strict.class) @Size(max = 1) String code) {
	}

	@LfHandler
	static class GroupedBean extends Explaining {

		@OnMessage
		String take(@Validated(Strict.class) Coupon coupon) {
			return coupon.code();
		}

	}

	@LfHandler
	static class MaybeOrder extends Explaining {

		@OnMessage
		String place(@Valid Optional<Order> order) {
			return order.map(Order::item).orElse("nothing");
		}

	}

	@LfHandler
	@Validated
	static class CheckedByAProxy {

		@OnMessage
		String get(@NotBlank String code) {
			return code;
		}

	}

	interface Coding {

		@OnMessage
		String take(@Size(max = 3) @NotNull String code);

		@OnError
		String invalid(PayloadValidationException ex);

	}

	@LfHandler
	static class ByInterface implements Coding {

		@Override
		public String take(String code) {
			return code;
		}

		@Override
		public String invalid(PayloadValidationException ex) {
			return String.valueOf(ex.getMessage());
		}

	}

	static class Proxies implements BeanPostProcessor {

		@Override
		public Object postProcessAfterInitialization(Object bean, String beanName) {
			if (!(bean instanceof ByInterface)) {
				return bean;
			}
			ProxyFactory factory = new ProxyFactory(bean);
			factory.addAdvice((MethodInterceptor) (invocation) -> invocation.proceed());
			return factory.getProxy();
		}

	}

}
