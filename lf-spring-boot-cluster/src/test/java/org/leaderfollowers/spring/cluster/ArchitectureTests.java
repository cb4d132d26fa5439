package org.leaderfollowers.spring.cluster;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackages;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

/** Rules that every class of the cluster must keep. */
class ArchitectureTests {

	private static final String ENGINE = "org.leaderfollowers";

	private static final String SPRING = "org.leaderfollowers.spring";

	private static final String ROOT = "org.leaderfollowers.spring.cluster";

	private static final JavaClasses classes = new ClassFileImporter()
		.withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
		.importPackages(ROOT);

	@Test
	void ofTheEngineOnlyItsPublicPackageIsUsed() {
		noClasses().should()
			.dependOnClassesThat(
					resideInAPackage(ENGINE + "..").and(resideOutsideOfPackages(ENGINE, SPRING, SPRING + "..")))
			.orShould()
			.dependOnClassesThat(resideInAPackage(SPRING + ".internal.."))
			.check(classes);
	}

	/** An application has one of the two. */
	@Test
	void onlyItsAdapterUsesAnEngine() {
		classes().that()
			.haveNameNotMatching(".*[.$](Hazelcast|LeaderFollowersHazelcast|OnHazelcast).*")
			.should()
			.onlyDependOnClassesThat(resideOutsideOfPackages("com.hazelcast.."))
			.check(classes);
		classes().that()
			.haveNameNotMatching(".*[.$](Redis|OnRedis).*")
			.should()
			.onlyDependOnClassesThat(resideOutsideOfPackages("io.lettuce..", "org.springframework.data.redis.."))
			.check(classes);
	}

	@Test
	void noJavaSerialization() {
		noClasses().should()
			.dependOnClassesThat()
			.belongToAnyOf(ObjectInputStream.class, ObjectOutputStream.class)
			.check(classes);
		Set<String> serializable = new TreeSet<>();
		for (JavaClass type : classes) {
			if (type.getRawInterfaces().stream().anyMatch((contract) -> contract.isEquivalentTo(Serializable.class))) {
				serializable.add(type.getName());
			}
		}
		assertThat(serializable).isEmpty();
	}

	@Test
	void thePackageIsNullMarked() {
		assertThat(classes).allSatisfy(
				(type) -> assertThat(type.getPackage().isAnnotatedWith(NullMarked.class)).as(type.getName()).isTrue());
	}

	@Test
	void theModuleStaysSmall() throws IOException {
		Set<String> publicTypes = new TreeSet<>();
		for (JavaClass type : classes) {
			if (type.isTopLevelClass() && type.getModifiers().contains(JavaModifier.PUBLIC)) {
				publicTypes.add(type.getName());
			}
		}
		assertThat(publicTypes).as("public top-level types").hasSizeLessThanOrEqualTo(2);
		List<Path> sources;
		try (Stream<Path> files = Files.walk(Path.of(System.getProperty("basedir", "."), "src/main/java"))) {
			sources = files.filter((file) -> file.toString().endsWith(".java")).toList();
		}
		assertThat(sources).as("source files").isNotEmpty().hasSizeLessThanOrEqualTo(23);
		for (Path source : sources) {
			assertThat(Files.readAllLines(source)).as(source.toString()).hasSizeLessThanOrEqualTo(400);
		}
	}

}
