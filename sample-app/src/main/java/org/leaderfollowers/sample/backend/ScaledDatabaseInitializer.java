package org.leaderfollowers.sample.backend;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

import javax.sql.DataSource;

import org.springframework.boot.jdbc.autoconfigure.ApplicationDataSourceScriptDatabaseInitializer;
import org.springframework.boot.sql.autoconfigure.init.SqlInitializationProperties;
import org.springframework.core.io.ByteArrayResource;
import org.springframework.core.io.Resource;
import org.springframework.dao.DataAccessException;

/**
 * Boot's own initializer, which runs {@code schema.sql} and {@code data.sql}, with one
 * addition: <code>${scale}</code> in a script stands for {@code sample.oltp.scale}. The
 * scripts can be run repeatedly, and are run again if they fail.
 */
class ScaledDatabaseInitializer extends ApplicationDataSourceScriptDatabaseInitializer {

	private final String scale;

	ScaledDatabaseInitializer(DataSource dataSource, SqlInitializationProperties settings, int scale) {
		super(dataSource, settings);
		this.scale = Integer.toString(scale);
	}

	@Override
	protected void runScripts(Scripts scripts) {
		List<Resource> scaled = new ArrayList<>();
		for (Resource script : scripts) {
			scaled.add(scale(script));
		}
		Scripts repeatable = new Scripts(scaled).continueOnError(scripts.isContinueOnError())
			.separator(scripts.getSeparator())
			.encoding(StandardCharsets.UTF_8);
		try {
			super.runScripts(repeatable);
		}
		catch (DataAccessException ex) {
			// Another back end may be creating the same objects at this moment. They
			// exist now, and the scripts do not change them.
			super.runScripts(repeatable);
		}
	}

	private Resource scale(Resource script) {
		try {
			String sql = script.getContentAsString(StandardCharsets.UTF_8).replace("${scale}", this.scale);
			return new ByteArrayResource(sql.getBytes(StandardCharsets.UTF_8), script.getDescription());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
