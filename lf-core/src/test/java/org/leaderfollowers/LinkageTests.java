package org.leaderfollowers;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.internal.linkage.Linkage;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Linkage}: no access through a variable handle needs memory when it is
 * first executed.
 */
class LinkageTests {

	private static final Path CLASSES = Path.of("target/classes/org/leaderfollowers");

	@Test
	void eachAccessIsLinkedByTheInitialiserOfItsClass() {
		List<String> missing = new ArrayList<>();
		int linked = 0;
		for (ClassNode type : classesOfEngine()) {
			Set<String> accesses = accesses(type, false);
			Set<String> links = accesses(type, true);
			linked += links.size();
			accesses.removeAll(links);
			accesses.forEach((access) -> missing.add(type.name + ": " + access));
		}
		assertThat(missing).isEmpty();
		assertThat(linked).isGreaterThan(30);
	}

	/** Links that no method needs would hide that the signature of an access differs. */
	@Test
	void eachLinkBelongsToAnAccess() {
		List<String> superfluous = new ArrayList<>();
		for (ClassNode type : classesOfEngine()) {
			Set<String> links = accesses(type, true);
			links.removeAll(accesses(type, false));
			links.forEach((link) -> superfluous.add(type.name + ": " + link));
		}
		assertThat(superfluous).isEmpty();
	}

	@Test
	void theFirstPoolInitialisesTheseClasses() throws ClassNotFoundException {
		Set<String> initialised = new HashSet<>();
		for (String name : EngineClasses.NAMES) {
			if (Files.exists(CLASSES.resolve(name.replace('.', '/') + ".class"))) {
				Class<?> type = Class.forName("org.leaderfollowers." + name, false,
						EngineClasses.class.getClassLoader());
				for (Class<?> each = type; each != null; each = each.getSuperclass()) {
					initialised.add(each.getName());
				}
			}
		}
		List<String> accessing = classesOfEngine().stream()
			.filter((type) -> !accesses(type, true).isEmpty())
			.map((type) -> type.name.replace('/', '.'))
			.toList();
		assertThat(accessing).isNotEmpty().isSubsetOf(initialised);
	}

	private static Set<String> accesses(ClassNode type, boolean inInitialiser) {
		Set<String> accesses = new TreeSet<>();
		for (MethodNode method : type.methods) {
			if (method.name.startsWith("lambda$static$") == inInitialiser) {
				Arrays.stream(method.instructions.toArray())
					.filter(LinkageTests::isAccess)
					.map((access) -> ((MethodInsnNode) access).name + ((MethodInsnNode) access).desc)
					.forEach(accesses::add);
			}
		}
		return accesses;
	}

	private static boolean isAccess(AbstractInsnNode instruction) {
		return instruction.getOpcode() == Opcodes.INVOKEVIRTUAL
				&& ((MethodInsnNode) instruction).owner.equals("java/lang/invoke/VarHandle");
	}

	private static List<ClassNode> classesOfEngine() {
		try (Stream<Path> files = Files.walk(CLASSES)) {
			return files.filter((file) -> file.toString().endsWith(".class")).map(LinkageTests::read).toList();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static ClassNode read(Path file) {
		try (InputStream stream = Files.newInputStream(file)) {
			ClassNode type = new ClassNode();
			new ClassReader(stream).accept(type, 0);
			return type;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
