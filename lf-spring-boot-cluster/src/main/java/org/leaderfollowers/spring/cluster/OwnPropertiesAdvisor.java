package org.leaderfollowers.spring.cluster;

import java.util.stream.StreamSupport;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.autoconfigure.LfProperties;

import org.springframework.boot.context.properties.ConfigurationPropertiesBindHandlerAdvisor;
import org.springframework.boot.context.properties.bind.AbstractBindHandler;
import org.springframework.boot.context.properties.bind.BindContext;
import org.springframework.boot.context.properties.bind.BindHandler;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;

/**
 * Hides the properties of {@link ClusterProperties} when the binder checks whether
 * {@link LfProperties} have bound every property below {@code lf}.
 */
final class OwnPropertiesAdvisor implements ConfigurationPropertiesBindHandlerAdvisor {

	private static final ConfigurationPropertyName ALL = ConfigurationPropertyName.of("lf");

	private static final ConfigurationPropertyName OWN = ConfigurationPropertyName.of("lf.cluster");

	@Override
	public BindHandler apply(BindHandler handler) {
		return new AbstractBindHandler(handler) {

			@Override
			public void onFinish(ConfigurationPropertyName name, Bindable<?> target, BindContext context,
					@Nullable Object result) throws Exception {
				super.onFinish(name, target, name.equals(ALL) ? new WithoutOwn(context) : context, result);
			}

		};
	}

	private record WithoutOwn(BindContext context) implements BindContext {

		@Override
		public Iterable<ConfigurationPropertySource> getSources() {
			return StreamSupport.stream(this.context.getSources().spliterator(), false)
				.map((source) -> source.filter((name) -> !OWN.isAncestorOf(name)))
				.toList();
		}

		@Override
		public Binder getBinder() {
			return this.context.getBinder();
		}

		@Override
		public int getDepth() {
			return this.context.getDepth();
		}

		@Override
		public @Nullable ConfigurationProperty getConfigurationProperty() {
			return this.context.getConfigurationProperty();
		}

	}

}
