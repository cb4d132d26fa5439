package org.leaderfollowers.sample.web;

import jakarta.validation.constraints.NotBlank;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;
import org.springframework.validation.annotation.Validated;

/**
 * The properties of the web server.
 *
 * @param root the directory with the files, on the class path or in the file system.
 * Files that are added or changed later are visible after a restart
 * @param cacheLimit the maximum size of a file that is kept in memory; larger files are
 * read in pieces for each request
 */
@Validated
@ConfigurationProperties("sample.web")
record WebProperties(@DefaultValue("classpath:/site/") @NotBlank String root,
		@DefaultValue("64KB") DataSize cacheLimit) {

}
