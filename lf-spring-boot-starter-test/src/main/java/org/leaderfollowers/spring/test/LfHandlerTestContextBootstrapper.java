package org.leaderfollowers.spring.test;

import org.springframework.boot.test.autoconfigure.TestSliceTestContextBootstrapper;
import org.springframework.test.context.TestContextBootstrapper;

/**
 * {@link TestContextBootstrapper} for {@link LfHandlerTest @LfHandlerTest}.
 */
class LfHandlerTestContextBootstrapper extends TestSliceTestContextBootstrapper<LfHandlerTest> {

}
