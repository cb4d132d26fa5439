package org.leaderfollowers.interleavings;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.FieldNode;
import org.objectweb.asm.tree.FrameNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.LineNumberNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.TypeInsnNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * Loads the classes of the engine, and scenarios, a second time: from the same class
 * files, with calls of {@link Interleaving} before each access to shared memory and
 * instead of parking, unparking, spinning and looking at the time. Monitors stay, but
 * nobody blocks on them.
 * <p>
 * Other threads are let in before accesses to volatile fields, to objects of
 * {@code java.util.concurrent} and through variable handles, and before monitors are
 * entered. Ordinary fields are only noted: what the memory model allows there, the stress
 * tests look at.
 */
final class InstrumentedClasses extends ClassLoader {

	private static final String ENGINE = "org.leaderfollowers.";

	private static final String EXPLORER = InstrumentedClasses.class.getPackageName() + ".";

	private static final String HOOKS = Type.getInternalName(Interleaving.class);

	private static final String VAR_HANDLE = "java/lang/invoke/VarHandle";

	private static final Pattern COLLECTION = Pattern.compile("List|Deque|Queue|Map|Set|Collection");

	private static final Pattern READS = Pattern
		.compile("^(get|contains|is|size|iterator|stream|peek|forEach|toArray)");

	private static final Map<String, Set<String>> REPLACED = Map.of("java/util/concurrent/locks/LockSupport",
			Set.of("park", "parkNanos", "unpark"), "java/lang/Thread", Set.of("interrupted", "onSpinWait", "yield"),
			"java/lang/System", Set.of("nanoTime"));

	/** The same, of methods of an object, which becomes the first parameter. */
	private static final Map<String, Set<String>> REPLACED_METHODS = Map.of("java/util/concurrent/TimeUnit",
			Set.of("timedWait"), "java/lang/Object", Set.of("notify", "notifyAll"));

	/** Classes that are not part of the protocols, such as statistics. */
	private static final Set<String> NOT_SHARED = Set.of("java/util/concurrent/TimeUnit",
			"java/util/concurrent/ThreadFactory", "java/util/concurrent/atomic/LongAdder");

	static {
		registerAsParallelCapable();
	}

	private final List<Mutation> mutations;

	private final Map<String, ClassNode> nodes = new HashMap<>();

	private final Set<Mutation> applied = new HashSet<>();

	InstrumentedClasses(List<Mutation> mutations) {
		super(InstrumentedClasses.class.getClassLoader());
		this.mutations = mutations;
	}

	boolean haveExactly(List<Mutation> mutations) {
		return this.mutations.equals(mutations);
	}

	/** Loads the classes that are mutated, so that a mutation without an effect fails. */
	void requireMutations() throws ClassNotFoundException {
		for (Mutation mutation : this.mutations) {
			loadClass(mutation.type().getName());
			if (!this.applied.contains(mutation)) {
				throw new IllegalStateException(mutation + " was not applied");
			}
		}
	}

	@Override
	protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
		synchronized (getClassLoadingLock(name)) {
			Class<?> loaded = findLoadedClass(name);
			if (loaded != null) {
				return loaded;
			}
			if (!name.startsWith(ENGINE) || name.startsWith(EXPLORER)) {
				return super.loadClass(name, resolve);
			}
			byte[] bytes = instrumented(name.replace('.', '/'));
			return defineClass(name, bytes, 0, bytes.length);
		}
	}

	private synchronized byte[] instrumented(String internalName) throws ClassNotFoundException {
		ClassNode type = node(internalName);
		if (type == null) {
			throw new ClassNotFoundException(internalName);
		}
		for (Mutation mutation : this.mutations) {
			if (Type.getInternalName(mutation.type()).equals(internalName)) {
				mutation.apply(type);
				this.applied.add(mutation);
			}
		}
		for (MethodNode method : type.methods) {
			// The initialiser of a class links accesses to no object, before they are
			// shared.
			if ((method.access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_NATIVE)) == 0
					&& !method.name.startsWith("lambda$static$")) {
				new Instrumentation(type, method).run();
			}
			if (method.name.equals("<clinit>")) {
				hideInitialization(method);
			}
		}
		ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
		type.accept(writer);
		return writer.toByteArray();
	}

	/** Whichever execution comes to a class first initializes it. */
	private static void hideInitialization(MethodNode method) {
		for (AbstractInsnNode instruction : method.instructions.toArray()) {
			if (instruction.getOpcode() == Opcodes.RETURN) {
				method.instructions.insertBefore(instruction, Instrumentation.hook("initialized", "()V"));
			}
		}
		method.instructions.insert(Instrumentation.hook("initializes", "()V"));
	}

	private @Nullable ClassNode node(String internalName) {
		return this.nodes.computeIfAbsent(internalName, this::read);
	}

	private @Nullable ClassNode read(String internalName) {
		try (InputStream stream = getParent().getResourceAsStream(internalName + ".class")) {
			if (stream == null) {
				return null;
			}
			ClassNode type = new ClassNode();
			new ClassReader(stream).accept(type, 0);
			return type;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Returns the access flags of a field, or {@code FINAL} if it is not the engine's.
	 */
	private int flags(FieldInsnNode access) {
		String owner = access.owner;
		while (owner != null && owner.startsWith("org/leaderfollowers/")) {
			ClassNode type = node(owner);
			if (type == null) {
				break;
			}
			for (FieldNode field : type.fields) {
				if (field.name.equals(access.name)) {
					return field.access;
				}
			}
			owner = type.superName;
		}
		return Opcodes.ACC_FINAL;
	}

	/**
	 * The instrumentation of one method.
	 */
	private final class Instrumentation {

		private final ClassNode type;

		private final MethodNode method;

		private final Deque<String> created = new ArrayDeque<>();

		private int line;

		private int sites;

		Instrumentation(ClassNode type, MethodNode method) {
			this.type = type;
			this.method = method;
		}

		void run() {
			for (AbstractInsnNode instruction : this.method.instructions.toArray()) {
				if (instruction instanceof LineNumberNode number) {
					this.line = number.line;
				}
				else if (instruction instanceof FieldInsnNode access) {
					field(access);
				}
				else if (instruction instanceof MethodInsnNode call) {
					call(call);
				}
				else if (instruction.getOpcode() == Opcodes.NEW) {
					this.created.push(((TypeInsnNode) instruction).desc);
				}
				else if (instruction.getOpcode() == Opcodes.ANEWARRAY
						|| instruction.getOpcode() == Opcodes.INVOKEDYNAMIC && returnsObject(instruction)) {
					created(instruction);
				}
				else if (instruction.getOpcode() == Opcodes.AALOAD) {
					element(instruction, "reads an element", Site.Kind.READ);
				}
				else if (instruction.getOpcode() == Opcodes.AASTORE) {
					element(instruction, "writes an element", Site.Kind.UPDATE, Type.getType(Object.class));
				}
				else if (instruction.getOpcode() == Opcodes.MONITORENTER) {
					InsnList before = new InsnList();
					before.add(new InsnNode(Opcodes.DUP));
					before.add(site("enters a monitor", "", Site.Kind.UPDATE, true));
					before.add(hook("enter", "(Ljava/lang/Object;I)V"));
					this.method.instructions.insertBefore(instruction, before);
				}
				else if (instruction.getOpcode() == Opcodes.MONITOREXIT) {
					this.method.instructions.insertBefore(instruction, new InsnNode(Opcodes.DUP));
					this.method.instructions.insert(instruction, hook("exit", "(Ljava/lang/Object;)V"));
				}
			}
			if ((this.method.access & Opcodes.ACC_SYNCHRONIZED) != 0) {
				synchronizedMethod();
			}
		}

		private void field(FieldInsnNode access) {
			int opcode = access.getOpcode();
			int flags = flags(access);
			boolean shared = (flags & Opcodes.ACC_VOLATILE) != 0;
			if ((flags & (Opcodes.ACC_FINAL | Opcodes.ACC_STATIC)) != 0 || opcode == Opcodes.GETSTATIC
					|| opcode == Opcodes.PUTSTATIC) {
				if (shared && !this.method.name.equals("<clinit>")) {
					// Shared by all executions, so none of them may use it.
					InsnList before = new InsnList();
					before.add(new LdcInsnNode("a static volatile field: " + access.name));
					before.add(hook("fail", "(Ljava/lang/String;)V"));
					this.method.instructions.insertBefore(access, before);
				}
				return;
			}
			boolean read = opcode == Opcodes.GETFIELD;
			if (this.method.name.equals("<init>")) {
				return;
			}
			InsnList before = new InsnList();
			InsnList reload = read ? new InsnList() : spill(before, Type.getType(access.desc));
			before.add(new InsnNode(Opcodes.DUP));
			before.add(site((read ? "reads " : "writes ") + access.name, access.name,
					read ? Site.Kind.READ : Site.Kind.WRITE, shared));
			before.add(hook("access", "(Ljava/lang/Object;I)V"));
			before.add(reload);
			this.method.instructions.insertBefore(access, before);
		}

		private void element(AbstractInsnNode access, String what, Site.Kind kind, Type... value) {
			InsnList before = new InsnList();
			InsnList reload = spill(before, value);
			before.add(new InsnNode(Opcodes.DUP2));
			before.add(new InsnNode(Opcodes.POP));
			before.add(site(what, "", kind, false));
			before.add(hook("access", "(Ljava/lang/Object;I)V"));
			before.add(reload);
			this.method.instructions.insertBefore(access, before);
		}

		private void call(MethodInsnNode call) {
			if (call.owner.equals("java/lang/Thread") && call.name.equals("start")) {
				this.method.instructions.set(call, hook("start", "(Ljava/lang/Thread;)V"));
			}
			else if (REPLACED.getOrDefault(call.owner, Set.of()).contains(call.name)) {
				call.owner = HOOKS;
			}
			else if (REPLACED_METHODS.getOrDefault(call.owner, Set.of()).contains(call.name)) {
				String parameters = "(L" + call.owner + ";";
				this.method.instructions.set(call, hook(call.name, call.desc.replace("(", parameters)));
			}
			else if (call.name.equals("<init>")) {
				if (call.owner.equals(this.created.peek())) {
					this.created.pop();
					if (call.getNext().getOpcode() != Opcodes.ATHROW) {
						created(call);
					}
				}
			}
			else if (call.owner.startsWith("java/util/concurrent/") && call.getOpcode() != Opcodes.INVOKESTATIC
					&& !NOT_SHARED.contains(call.owner)) {
				shared(call, false);
			}
			else if (call.owner.startsWith("java/util/") && COLLECTION.matcher(call.owner).find()
					&& call.getOpcode() != Opcodes.INVOKESTATIC && call.getOpcode() != Opcodes.INVOKESPECIAL) {
				access(call, false, READS.matcher(call.name).find() ? Site.Kind.READ : Site.Kind.UPDATE, false);
			}
			else if (call.owner.equals(VAR_HANDLE) && call.getOpcode() != Opcodes.INVOKESTATIC) {
				shared(call, true);
			}
		}

		private static boolean returnsObject(AbstractInsnNode instruction) {
			return ((InvokeDynamicInsnNode) instruction).desc.endsWith(";");
		}

		private void created(AbstractInsnNode instruction) {
			InsnList after = new InsnList();
			after.add(new InsnNode(Opcodes.DUP));
			after.add(hook("created", "(Ljava/lang/Object;)V"));
			this.method.instructions.insert(instruction, after);
		}

		private void shared(MethodInsnNode call, boolean handle) {
			access(call, handle, kind(call.name), true);
		}

		private void access(MethodInsnNode call, boolean handle, Site.Kind kind, boolean shared) {
			Type[] arguments = Type.getArgumentTypes(call.desc);
			InsnList before = new InsnList();
			InsnList reload = spill(before, handle ? Arrays.copyOfRange(arguments, 1, arguments.length) : arguments);
			before.add(new InsnNode(handle ? Opcodes.DUP2 : Opcodes.DUP));
			String owner = call.owner.substring(call.owner.lastIndexOf('/') + 1);
			before.add(site(owner + "." + call.name, "", kind, shared));
			before.add(hook("access", handle ? "(Ljava/lang/Object;Ljava/lang/Object;I)V" : "(Ljava/lang/Object;I)V"));
			before.add(reload);
			this.method.instructions.insertBefore(call, before);
		}

		private static Site.Kind kind(String name) {
			if (name.startsWith("getAnd")) {
				return Site.Kind.UPDATE;
			}
			return name.startsWith("get") ? Site.Kind.READ
					: name.startsWith("set") ? Site.Kind.WRITE : Site.Kind.UPDATE;
		}

		/**
		 * Moves values from the stack to new local variables, and returns the
		 * instructions that move them back.
		 */
		private InsnList spill(InsnList to, Type... types) {
			InsnList back = new InsnList();
			int local = this.method.maxLocals;
			for (int i = types.length - 1; i >= 0; i--) {
				to.add(new VarInsnNode(types[i].getOpcode(Opcodes.ISTORE), local));
				back.insert(new VarInsnNode(types[i].getOpcode(Opcodes.ILOAD), local));
				local += types[i].getSize();
			}
			return back;
		}

		private AbstractInsnNode site(String what, String field, Site.Kind kind, boolean shared) {
			String name = this.type.name.substring(this.type.name.lastIndexOf('/') + 1);
			String where = name + "." + this.method.name + ":" + this.line;
			int hash = (where + this.method.desc + this.sites++).hashCode();
			return new LdcInsnNode(new Site(where, what, field, kind, shared, hash).number());
		}

		private static MethodInsnNode hook(String name, String descriptor) {
			return new MethodInsnNode(Opcodes.INVOKESTATIC, HOOKS, name, descriptor, false);
		}

		private void synchronizedMethod() {
			this.method.access &= ~Opcodes.ACC_SYNCHRONIZED;
			InsnList code = this.method.instructions;
			LabelNode begin = new LabelNode();
			LabelNode end = new LabelNode();
			for (AbstractInsnNode instruction : code.toArray()) {
				if (instruction.getOpcode() >= Opcodes.IRETURN && instruction.getOpcode() <= Opcodes.RETURN) {
					code.insertBefore(instruction, hook("exitLatest", "()V"));
				}
			}
			InsnList enter = new InsnList();
			enter.add(new VarInsnNode(Opcodes.ALOAD, 0));
			enter.add(site("enters its monitor", "", Site.Kind.UPDATE, true));
			enter.add(hook("enter", "(Ljava/lang/Object;I)V"));
			enter.add(begin);
			code.insert(enter);
			code.add(end);
			code.add(new FrameNode(Opcodes.F_FULL, 0, new Object[0], 1, new Object[] { "java/lang/Throwable" }));
			code.add(hook("exitLatest", "()V"));
			code.add(new InsnNode(Opcodes.ATHROW));
			this.method.tryCatchBlocks.add(new TryCatchBlockNode(begin, end, end, null));
		}

	}

}
