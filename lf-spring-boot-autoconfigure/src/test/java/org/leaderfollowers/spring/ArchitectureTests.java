package org.leaderfollowers.spring;

import java.io.Externalizable;
import java.io.IOException;
import java.io.ObjectInput;
import java.io.ObjectInputStream;
import java.io.ObjectOutput;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackages;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

/** Rules that every class of the auto-configuration must keep. */
class ArchitectureTests {

	private static final String ENGINE = "org.leaderfollowers";

	private static final String ROOT = "org.leaderfollowers.spring";

	private static final JavaClasses classes = new ClassFileImporter()
		.withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
		.importPackages(ROOT);

	@Test
	void packagesAreFreeOfCycles() {
		slices().assignedFrom(new PackageByPackage()).should().beFreeOfCycles().allowEmptyShould(true).check(classes);
	}

	@Test
	void ofTheEngineOnlyItsPublicPackageIsUsed() {
		noClasses().should()
			.dependOnClassesThat(resideInAPackage(ENGINE + "..").and(resideOutsideOfPackages(ENGINE, ROOT + "..")))
			.allowEmptyShould(true)
			.check(classes);
	}

	@Test
	void noJavaSerialization() {
		noClasses().should()
			.dependOnClassesThat()
			.belongToAnyOf(ObjectInput.class, ObjectInputStream.class, ObjectOutput.class, ObjectOutputStream.class)
			.allowEmptyShould(true)
			.check(classes);
		assertThat(classes.that(declareSerializable())).isEmpty();
	}

	@Test
	void everyPackageIsNullMarked() {
		Set<String> unmarked = new TreeSet<>();
		for (JavaClass type : classes) {
			if (!type.getPackage().isAnnotatedWith(NullMarked.class)) {
				unmarked.add(type.getPackageName());
			}
		}
		assertThat(unmarked).isEmpty();
	}

	@Test
	void theModuleStaysSmall() throws IOException {
		Map<Path, Long> lines = linesOfSources();
		Set<String> packages = new TreeSet<>();
		Set<String> publicTypes = new TreeSet<>();
		for (JavaClass type : classes) {
			packages.add(type.getPackageName());
			if (type.isTopLevelClass() && type.getModifiers().contains(JavaModifier.PUBLIC)) {
				publicTypes.add(type.getName());
			}
		}
		assertThat(lines.keySet()).as("source files").isNotEmpty().hasSizeLessThanOrEqualTo(217);
		assertThat(lines).as("lines of a source file")
			.allSatisfy((source, count) -> assertThat(count).as(source.toString()).isLessThanOrEqualTo(400));
		assertThat(packages).as("packages").hasSizeLessThanOrEqualTo(13);
		assertThat(publicTypes).as("public top-level types").hasSizeLessThanOrEqualTo(112);
	}

	private static Map<Path, Long> linesOfSources() throws IOException {
		Map<Path, Long> lines = new TreeMap<>();
		try (Stream<Path> sources = Files.walk(Path.of(System.getProperty("basedir", "."), "src/main/java"))) {
			for (Path source : sources.filter((file) -> file.toString().endsWith(".java")).toList()) {
				lines.put(source, (long) Files.readAllLines(source).size());
			}
		}
		return lines;
	}

	@Test
	void publicSignaturesDoNotExposeInternalTypes() {
		Set<String> exposed = new TreeSet<>();
		for (JavaClass type : classes) {
			if (isInternal(type) || !type.getModifiers().contains(JavaModifier.PUBLIC)) {
				continue;
			}
			Stream<JavaClass> supertypes = Stream.concat(type.getRawSuperclass().stream(),
					type.getRawInterfaces().stream());
			Stream<JavaClass> members = type.getMembers()
				.stream()
				.filter((member) -> member.getModifiers().contains(JavaModifier.PUBLIC)
						|| member.getModifiers().contains(JavaModifier.PROTECTED))
				.flatMap((member) -> member.getAllInvolvedRawTypes().stream());
			Stream.concat(supertypes, members)
				.filter(ArchitectureTests::isInternal)
				.forEach((internal) -> exposed.add(type.getName() + " exposes " + internal.getName()));
		}
		assertThat(exposed).isEmpty();
	}

	private static boolean isInternal(JavaClass type) {
		return type.getPackageName().startsWith(ROOT + ".internal");
	}

	/**
	 * Matches classes that declare themselves serializable; exceptions and enums only
	 * inherit it.
	 */
	private static DescribedPredicate<JavaClass> declareSerializable() {
		return DescribedPredicate.describe("declare Serializable",
				(type) -> type.getRawInterfaces()
					.stream()
					.anyMatch((contract) -> contract.isEquivalentTo(Serializable.class)
							|| contract.isEquivalentTo(Externalizable.class)));
	}

	private static final class PackageByPackage implements SliceAssignment {

		@Override
		public SliceIdentifier getIdentifierOf(JavaClass type) {
			return type.getPackageName().startsWith(ROOT) ? SliceIdentifier.of(type.getPackageName())
					: SliceIdentifier.ignore();
		}

		@Override
		public String getDescription() {
			return "packages";
		}

	}

}
