package org.leaderfollowers.simulation;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.internal.buffer.SharedMemory;
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
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.TypeInsnNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * Loads the classes of the engine and of the workload a second time, from the same class
 * files, and redirects their calls into the JDK to {@link SimulatedJdk}. A
 * {@link Mutation} changes a class first.
 */
final class SimulatedClasses extends ClassLoader {

	private static final String ENGINE = "org.leaderfollowers.";

	private static final Set<String> SHARED_WITH_TESTS = Set.of(ENGINE + "simulation.", ENGINE + "interleavings.");

	private static final String HOOKS = Type.getInternalName(SimulatedJdk.class);

	private static final String THREAD = "java/lang/Thread";

	private static final String RANDOM = "java/util/concurrent/ThreadLocalRandom";

	/** The methods that are replaced, by their class; see {@link SimulatedJdk}. */
	private static final Map<String, Map<String, String>> REPLACED = Map.of("java/lang/System",
			Map.of("nanoTime", "nanoTime"), "java/time/Instant", Map.of("now", "now"), RANDOM,
			Map.of("current", "current", "nextLong", "nextLong"), "java/util/concurrent/locks/LockSupport",
			Map.of("park", "park", "parkNanos", "parkNanos", "unpark", "unpark"), THREAD,
			Map.of("currentThread", "currentThread", "onSpinWait", "onSpinWait", "yield", "yield", "interrupted",
					"interrupted", "isInterrupted", "isInterrupted", "interrupt", "interrupt", "join", "join",
					"setDaemon", "setDaemon"),
			"java/util/concurrent/TimeUnit", Map.of("timedWait", "timedWait"), "java/util/concurrent/CountDownLatch",
			Map.of("await", "await"), "java/nio/ByteBuffer",
			Map.of("allocateDirect", "allocateDirect", "allocate", "allocate"), "java/nio/channels/SocketChannel",
			Map.of("open", "openSocket"), "java/nio/channels/ServerSocketChannel", Map.of("open", "openServerSocket"));

	/** Decides how many handle sets a pool uses. */
	private static final String UNFOLDING = "org/leaderfollowers/internal/promotion/Unfolding";

	private static final String WORKLOAD = "Workload";

	private static final Pattern COLLECTION = Pattern.compile("java/util/(concurrent/)?\\w*(List|Deque|Queue|Map|Set)");

	/**
	 * Those that grow when they already have what was added, for which they had a place.
	 */
	private static final Pattern GROWS_LATE = Pattern.compile("java/util/(Array)?Deque|java/util/(\\w*Hash)?(Map|Set)");

	private static final String ENSURE = "ensureCapacity";

	private static final Set<String> ADDS = Set.of("add", "addFirst", "addLast", "offer", "put", "putIfAbsent",
			"computeIfAbsent");

	static {
		registerAsParallelCapable();
	}

	private final List<Mutation> mutations;

	/** The names of volatile fields, by class. */
	private final Map<String, Set<String>> volatileFields = new ConcurrentHashMap<>();

	private final Set<Mutation> applied = new HashSet<>();

	SimulatedClasses(List<Mutation> mutations) {
		super(SimulatedClasses.class.getClassLoader());
		this.mutations = mutations;
	}

	/** Loads the mutated classes, so that a mutation without an effect fails. */
	void requireMutations() throws ClassNotFoundException {
		for (Mutation mutation : this.mutations) {
			Class.forName(mutation.type().getName(), true, this);
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
			if (!name.startsWith(ENGINE) || SHARED_WITH_TESTS.stream().anyMatch(name::startsWith)) {
				return super.loadClass(name, resolve);
			}
			byte[] bytes = rewritten(name);
			return defineClass(name, bytes, 0, bytes.length);
		}
	}

	private byte[] rewritten(String name) throws ClassNotFoundException {
		ClassNode type;
		try {
			type = read(name.replace('.', '/'), 0);
		}
		catch (IOException ex) {
			throw new ClassNotFoundException(name, ex);
		}
		for (Mutation mutation : this.mutations) {
			if (mutation.type().getName().equals(name)) {
				mutation.apply(type);
				this.applied.add(mutation);
			}
		}
		for (MethodNode method : type.methods) {
			// No other thread is let in while a class is initialised: it may need the
			// class.
			if ((method.access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_NATIVE)) == 0
					&& !method.name.startsWith("lambda$static$")) {
				rewrite(type, method);
			}
		}
		if (name.equals("org.leaderfollowers.internal.logging.EngineLog")) {
			silence(type);
		}
		numberObjects(type);
		ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
		type.accept(writer);
		return writer.toByteArray();
	}

	private void rewrite(ClassNode type, MethodNode method) {
		InsnList code = method.instructions;
		for (AbstractInsnNode instruction : code.toArray()) {
			if (instruction instanceof TypeInsnNode created && created.getOpcode() == Opcodes.NEW
					&& created.desc.equals(THREAD)) {
				created.desc = Type.getInternalName(SimulatedThread.class);
			}
			else if (instruction instanceof MethodInsnNode call) {
				call(code, call);
			}
			else if (instruction instanceof FieldInsnNode access && isVolatile(type, access)) {
				code.insertBefore(access, hook("step", "()V"));
			}
			else if (instruction.getOpcode() == Opcodes.MONITORENTER) {
				code.set(instruction, hook("enter", "(Ljava/lang/Object;)V"));
			}
			else if (instruction.getOpcode() == Opcodes.MONITOREXIT) {
				code.set(instruction, hook("exit", "(Ljava/lang/Object;)V"));
			}
		}
		// The JDK allocates, too, after it has received a datagram, which is lost then.
		if (!type.name.contains(WORKLOAD) && !type.name.endsWith("DatagramReceiver")) {
			allocations(code);
		}
		for (TryCatchBlockNode block : method.tryCatchBlocks) {
			if (block.type != null) {
				noteCaught(code, block.handler);
			}
		}
		if ((method.access & Opcodes.ACC_SYNCHRONIZED) != 0) {
			enterMonitor(type, method);
		}
	}

	/**
	 * Lets memory be short when an object, an array or a lambda with captured variables
	 * is created, or when something is added to a collection, unless the method makes
	 * sure of the place before.
	 */
	private static void allocations(InsnList code) {
		Set<String> adds = callsOf(code).anyMatch((call) -> call.name.equals(ENSURE)) ? Set.of(ENSURE) : ADDS;
		for (AbstractInsnNode instruction : code.toArray()) {
			if (instruction.getOpcode() == Opcodes.NEW) {
				code.insertBefore(instruction, hook("allocates", "()V"));
				renameUninitialized(code, instruction);
			}
			else if (instruction.getOpcode() == Opcodes.NEWARRAY || instruction.getOpcode() == Opcodes.ANEWARRAY
					|| (instruction instanceof InvokeDynamicInsnNode made && !made.desc.startsWith("()"))) {
				code.insertBefore(instruction, hook("allocates", "()V"));
			}
			else if (instruction instanceof MethodInsnNode call && COLLECTION.matcher(call.owner).matches()
					&& adds.contains(call.name)) {
				code.insertBefore(instruction, hook("allocates", "()V"));
				if (GROWS_LATE.matcher(call.owner).matches()) {
					code.insert(instruction, hook("allocates", "()V"));
				}
			}
		}
	}

	private static Stream<MethodInsnNode> callsOf(InsnList code) {
		return Arrays.stream(code.toArray()).filter(MethodInsnNode.class::isInstance).map(MethodInsnNode.class::cast);
	}

	/** Frames name an object that is being created by the label of its creation. */
	private static void renameUninitialized(InsnList code, AbstractInsnNode created) {
		LabelNode renamed = new LabelNode();
		Set<Object> labels = new HashSet<>();
		for (AbstractInsnNode before = created.getPrevious().getPrevious(); before != null
				&& before.getOpcode() < 0; before = before.getPrevious()) {
			labels.add(before);
		}
		code.insertBefore(created, renamed);
		UnaryOperator<Object> rename = (value) -> labels.contains(value) ? renamed : value;
		for (AbstractInsnNode instruction : code) {
			if (instruction instanceof FrameNode frame) {
				rename(frame.local, rename);
				rename(frame.stack, rename);
			}
		}
	}

	private static void rename(@Nullable List<Object> types, UnaryOperator<Object> rename) {
		if (types != null) {
			types.replaceAll(rename);
		}
	}

	/** Adds what was caught to the trace. */
	private static void noteCaught(InsnList code, LabelNode handler) {
		AbstractInsnNode first = handler;
		while (first.getOpcode() < 0) {
			first = first.getNext();
		}
		InsnList note = new InsnList();
		note.add(new InsnNode(Opcodes.DUP));
		note.add(hook("caught", "(Ljava/lang/Throwable;)V"));
		code.insertBefore(first, note);
	}

	private static void call(InsnList code, MethodInsnNode call) {
		String replacement = REPLACED.getOrDefault(call.owner, Map.of()).get(call.name);
		if (replacement != null) {
			replace(code, call, replacement);
		}
		else if (call.owner.equals("java/util/concurrent/CompletableFuture") && call.name.equals("get")) {
			replace(code, call, "get");
		}
		else if (call.owner.equals("java/nio/channels/DatagramChannel") && call.name.equals("open")) {
			replace(code, call, "openDatagramSocket");
		}
		else if (call.owner.equals(UNFOLDING) && call.name.equals("wanted")) {
			// A virtual clock measures no load, so the seed chooses it.
			replace(code, call, "wanted");
		}
		else if (call.name.equals("shareOfHeap")) {
			// The heap is that of the tests, and other runs use it.
			call.owner = Type.getInternalName(SharedMemory.class);
		}
		else if ((call.name.equals("notify") || call.name.equals("notifyAll")) && call.desc.equals("()V")) {
			code.set(call, hook(call.name, "(Ljava/lang/Object;)V"));
		}
		else if (call.owner.equals(THREAD) && call.name.equals("<init>")) {
			call.owner = Type.getInternalName(SimulatedThread.class);
		}
		else if (call.getOpcode() != Opcodes.INVOKESTATIC && !call.name.equals("<init>") && !call.owner.equals(RANDOM)
				&& (call.owner.startsWith("java/util/concurrent/") || call.owner.startsWith("java/nio/channels/")
						|| call.owner.equals("java/lang/invoke/VarHandle"))) {
			code.insertBefore(call, hook("step", "()V"));
		}
	}

	private static void replace(InsnList code, MethodInsnNode call, String name) {
		String descriptor = call.desc;
		if (call.getOpcode() != Opcodes.INVOKESTATIC) {
			descriptor = "(L" + call.owner + ";" + descriptor.substring(1);
		}
		code.set(call, hook(name, descriptor));
	}

	private boolean isVolatile(ClassNode type, FieldInsnNode access) {
		return access.owner.startsWith("org/leaderfollowers/") && (access.owner.equals(type.name) ? volatileFields(type)
				: this.volatileFields.computeIfAbsent(access.owner, this::volatileFields))
			.contains(access.name);
	}

	private Set<String> volatileFields(String owner) {
		try {
			return volatileFields(read(owner, ClassReader.SKIP_CODE));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static Set<String> volatileFields(ClassNode type) {
		Set<String> names = new HashSet<>();
		for (FieldNode field : type.fields) {
			if ((field.access & Opcodes.ACC_VOLATILE) != 0) {
				names.add(field.name);
			}
		}
		return names;
	}

	private ClassNode read(String internalName, int options) throws IOException {
		ClassNode type = new ClassNode();
		try (InputStream stream = getParent().getResourceAsStream(internalName + ".class")) {
			if (stream == null) {
				throw new FileNotFoundException(internalName);
			}
			new ClassReader(stream).accept(type, options);
		}
		return type;
	}

	private static void enterMonitor(ClassNode type, MethodNode method) {
		boolean isStatic = (method.access & Opcodes.ACC_STATIC) != 0;
		method.access &= ~Opcodes.ACC_SYNCHRONIZED;
		InsnList code = method.instructions;
		LabelNode begin = new LabelNode();
		LabelNode end = new LabelNode();
		for (AbstractInsnNode instruction : code.toArray()) {
			if (instruction.getOpcode() >= Opcodes.IRETURN && instruction.getOpcode() <= Opcodes.RETURN) {
				code.insertBefore(instruction, monitor(type, isStatic, "exit"));
			}
		}
		InsnList enter = monitor(type, isStatic, "enter");
		enter.add(begin);
		code.insert(enter);
		code.add(end);
		code.add(new FrameNode(Opcodes.F_FULL, isStatic ? 0 : 1, isStatic ? new Object[0] : new Object[] { type.name },
				1, new Object[] { "java/lang/Throwable" }));
		code.add(monitor(type, isStatic, "exit"));
		code.add(new InsnNode(Opcodes.ATHROW));
		method.tryCatchBlocks.add(new TryCatchBlockNode(begin, end, end, null));
	}

	private static InsnList monitor(ClassNode type, boolean isStatic, String hook) {
		InsnList code = new InsnList();
		code.add(isStatic ? new LdcInsnNode(Type.getObjectType(type.name)) : new VarInsnNode(Opcodes.ALOAD, 0));
		code.add(hook(hook, "(Ljava/lang/Object;)V"));
		return code;
	}

	/** The log would start threads of its own. Its lines become part of the trace. */
	private static void silence(ClassNode type) {
		for (MethodNode method : type.methods) {
			if (method.name.equals("log") || method.name.equals("withoutBlocking")) {
				InsnList code = new InsnList();
				code.add(new VarInsnNode(Opcodes.ALOAD, 1));
				code.add(new VarInsnNode(Opcodes.ALOAD, 2));
				code.add(new VarInsnNode(Opcodes.ALOAD, 3));
				code.add(hook("logged", "(Ljava/lang/Object;Ljava/lang/String;[Ljava/lang/Object;)V"));
				code.add(new InsnNode(Opcodes.RETURN));
				method.instructions = code;
				method.tryCatchBlocks.clear();
				method.localVariables = null;
			}
			else if (method.name.equals("flush")) {
				method.instructions = new InsnList();
				method.instructions.add(new InsnNode(Opcodes.RETURN));
				method.tryCatchBlocks.clear();
				method.localVariables = null;
			}
		}
	}

	/** Maps must have the same order in each run, so hash codes must not be random. */
	private static void numberObjects(ClassNode type) {
		boolean isClass = (type.access & (Opcodes.ACC_INTERFACE | Opcodes.ACC_ENUM | Opcodes.ACC_RECORD)) == 0;
		boolean hasHash = type.methods.stream().anyMatch((method) -> method.name.equals("hashCode"));
		if (!isClass || hasHash || !type.superName.equals("java/lang/Object")) {
			return;
		}
		type.fields.add(new FieldNode(Opcodes.ACC_PRIVATE | Opcodes.ACC_SYNTHETIC, "hash$", "I", null, null));
		MethodNode method = new MethodNode(Opcodes.ACC_PUBLIC | Opcodes.ACC_SYNTHETIC, "hashCode", "()I", null, null);
		LabelNode known = new LabelNode();
		InsnList code = method.instructions;
		code.add(new VarInsnNode(Opcodes.ALOAD, 0));
		code.add(new FieldInsnNode(Opcodes.GETFIELD, type.name, "hash$", "I"));
		code.add(new JumpInsnNode(Opcodes.IFNE, known));
		code.add(new VarInsnNode(Opcodes.ALOAD, 0));
		code.add(hook("nextHash", "()I"));
		code.add(new FieldInsnNode(Opcodes.PUTFIELD, type.name, "hash$", "I"));
		code.add(known);
		code.add(new FrameNode(Opcodes.F_SAME, 0, null, 0, null));
		code.add(new VarInsnNode(Opcodes.ALOAD, 0));
		code.add(new FieldInsnNode(Opcodes.GETFIELD, type.name, "hash$", "I"));
		code.add(new InsnNode(Opcodes.IRETURN));
		type.methods.add(method);
	}

	private static MethodInsnNode hook(String name, String descriptor) {
		return new MethodInsnNode(Opcodes.INVOKESTATIC, HOOKS, name, descriptor, false);
	}

}
