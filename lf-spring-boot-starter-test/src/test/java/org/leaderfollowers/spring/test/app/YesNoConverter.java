package org.leaderfollowers.spring.test.app;

import org.springframework.core.convert.converter.Converter;
import org.springframework.stereotype.Component;

@Component
public class YesNoConverter implements Converter<String, Boolean> {

	@Override
	public Boolean convert(String source) {
		return source.equals("yes");
	}

}
