package org.leaderfollowers.sample.web;

import jakarta.validation.constraints.NotBlank;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;
import org.springframework.validation.annotation.Validated;

/**
 * What can be configured of the web server.
 *
 * @param root the directory whose files are served, on the class path or in the file
 * system. Files that are added or changed later are seen after a restart
 * @param cacheLimit the size of the largest file that is kept in memory; larger ones are
 * read piece by piece, for each request
 */
@Validated
@ConfigurationProperties("sample.web")
record WebProperties(@DefaultValue("classpath:/site/") @NotBlank String root,
		@DefaultValue("64KB") DataSize cacheLimit) {

}
