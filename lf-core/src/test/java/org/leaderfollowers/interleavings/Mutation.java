package org.leaderfollowers.interleavings;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiPredicate;
import java.util.function.Consumer;
import java.util.function.Predicate;

import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.LineNumberNode;
import org.objectweb.asm.tree.LookupSwitchInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TableSwitchInsnNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * A rule that is dropped from a class while it is loaded: its byte code is changed. A
 * mutation that finds nothing to change fails, so it cannot outlive the code that it is
 * about.
 *
 * @param type the class
 * @param method the name of the method; lambda expressions in it count as part of it
 * @param description what is changed there; two mutations of a method that have equal
 * descriptions are equal
 * @param edit changes a method; returns whether there was anything to change
 */
public record Mutation(Class<?> type, String method, String description, Predicate<MethodNode> edit) {

	private static final String READ = "read ";

	/**
	 * A call is left out, and what it would have returned is a constant.
	 * @param type the class
	 * @param method the method that calls
	 * @param callee the name of the method that is called no more
	 * @param result 0 stands for {@code false} and {@code null}, too
	 */
	public static Mutation callReturns(Class<?> type, String method, String callee, int result) {
		return new Mutation(type, method, callee + "() returns " + result, (code) -> forEach(code, callee,
				(instruction) -> replaceCall(code, (MethodInsnNode) instruction, result)));
	}

	/**
	 * A call is left out.
	 * @param type the class
	 * @param method the method that calls
	 * @param callee the name of the method that is called no more
	 */
	public static Mutation withoutCall(Class<?> type, String method, String callee) {
		return callReturns(type, method, callee, 0);
	}

	/**
	 * A field reads as a constant.
	 * @param type the class
	 * @param method the method that reads
	 * @param field the name of an {@code int}, {@code boolean} or {@code long} field
	 * @param value what is read
	 */
	public static Mutation fieldReads(Class<?> type, String method, String field, int value) {
		return new Mutation(type, method, field + " reads " + value,
				(code) -> forEach(code, field, (instruction, name) -> isField(instruction, Opcodes.GETFIELD, name)
						|| isField(instruction, Opcodes.GETSTATIC, name), (instruction) -> {
							InsnList instead = new InsnList();
							if (instruction.getOpcode() == Opcodes.GETFIELD) {
								instead.add(new InsnNode(Opcodes.POP));
							}
							constant(instead, Type.getType(((FieldInsnNode) instruction).desc), value);
							replace(code, instruction, instead);
						}));
	}

	/**
	 * A compare-and-set becomes a write that always succeeds.
	 * @param type the class
	 * @param method the method that compares and sets
	 */
	public static Mutation setsWithoutComparing(Class<?> type, String method) {
		return new Mutation(type, method, "sets without comparing",
				(code) -> forEach(code, (instruction) -> isCall(instruction, "compareAndSet"), (instruction) -> {
					MethodInsnNode call = (MethodInsnNode) instruction;
					Type[] arguments = Type.getArgumentTypes(call.desc);
					Type value = arguments[arguments.length - 1];
					InsnList instead = new InsnList();
					int local = code.maxLocals;
					code.maxLocals += 2;
					instead.add(new VarInsnNode(value.getOpcode(Opcodes.ISTORE), local));
					instead.add(new InsnNode((value.getSize() == 2) ? Opcodes.POP2 : Opcodes.POP));
					instead.add(new VarInsnNode(value.getOpcode(Opcodes.ILOAD), local));
					String target = (arguments.length == 3) ? arguments[0].getDescriptor() : "";
					String set = (arguments.length == 3) ? "setVolatile" : "set";
					instead.add(new MethodInsnNode(call.getOpcode(), call.owner, set,
							"(" + target + value.getDescriptor() + ")V", false));
					instead.add(new InsnNode(Opcodes.ICONST_1));
					replace(code, instruction, instead);
				}));
	}

	/**
	 * A statement is moved before another one.
	 * @param type the class
	 * @param method the method of both
	 * @param later a method that the statement calls, or a field that it writes
	 * @param earlier the same of the other one
	 */
	public static Mutation movedBefore(Class<?> type, String method, String later, String earlier) {
		return new Mutation(type, method, later + " before " + earlier, (code) -> {
			List<AbstractInsnNode> moved = statement(code, later, false);
			List<AbstractInsnNode> before = statement(code, earlier, false);
			if (moved.isEmpty() || before.isEmpty()) {
				return false;
			}
			for (AbstractInsnNode instruction : moved) {
				code.instructions.remove(instruction);
				code.instructions.insertBefore(before.get(0), instruction);
			}
			return true;
		});
	}

	/**
	 * What a call returns is a constant, and the call is made at the end of the
	 * statement.
	 * @param type the class
	 * @param method the method that calls
	 * @param callee the name of a method without parameters
	 * @param statement the method that is called last in the statement
	 * @param result what is used in the meantime
	 */
	public static Mutation calledAfter(Class<?> type, String method, String callee, String statement, int result) {
		return new Mutation(type, method, callee + "() after " + statement, (code) -> {
			List<AbstractInsnNode> instructions = statement(code, statement, false);
			for (AbstractInsnNode instruction : instructions) {
				if (isCall(instruction, callee)) {
					AbstractInsnNode receiver = instruction.getPrevious();
					InsnList late = new InsnList();
					late.add(receiver.clone(Map.of()));
					late.add(instruction.clone(Map.of()));
					late.add(new InsnNode(Opcodes.POP));
					AbstractInsnNode end = instructions.stream()
						.filter((candidate) -> isCall(candidate, statement))
						.findFirst()
						.orElseThrow();
					code.instructions.insert(end, late);
					replaceCall(code, (MethodInsnNode) instruction, result);
					return true;
				}
			}
			return false;
		});
	}

	/**
	 * A statement is moved behind a call, even into the middle of another statement.
	 * @param type the class
	 * @param method the method of both
	 * @param moved a method that the statement calls, or a field that it writes
	 * @param callee the method behind whose call it is moved
	 */
	public static Mutation movedBehind(Class<?> type, String method, String moved, String callee) {
		return new Mutation(type, method, moved + " behind " + callee, (code) -> {
			List<AbstractInsnNode> statement = statement(code, moved, false);
			return !statement.isEmpty() && forEach(code, callee, (call) -> {
				InsnList instructions = new InsnList();
				for (AbstractInsnNode instruction : statement) {
					code.instructions.remove(instruction);
					instructions.add(instruction);
				}
				code.instructions.insert(call, instructions);
			});
		});
	}

	/**
	 * A method of a field is called, too.
	 * @param type the class
	 * @param method the method that calls
	 * @param callee behind which call
	 * @param field the name of the field
	 * @param called the type of the field
	 * @param added a method without parameters that returns nothing
	 */
	public static Mutation callAdded(Class<?> type, String method, String callee, String field, Class<?> called,
			String added) {
		return new Mutation(type, method, field + "." + added + "() behind " + callee,
				(code) -> forEach(code, callee, (call) -> {
					InsnList instructions = new InsnList();
					instructions.add(new VarInsnNode(Opcodes.ALOAD, 0));
					instructions.add(new FieldInsnNode(Opcodes.GETFIELD, Type.getInternalName(type), field,
							Type.getDescriptor(called)));
					instructions.add(new MethodInsnNode(Opcodes.INVOKEVIRTUAL, Type.getInternalName(called), added,
							"()V", false));
					code.instructions.insert(call, instructions);
				}));
	}

	/**
	 * A method that logs what was caught ends the execution instead.
	 * @param type the class
	 * @param method the method
	 * @param parameter the number of the parameter with the failure, from 1
	 */
	public static Mutation failsWith(Class<?> type, String method, int parameter) {
		return new Mutation(type, method, "parameter " + parameter + " ends the execution", (code) -> {
			InsnList instructions = new InsnList();
			instructions.add(new VarInsnNode(Opcodes.ALOAD, parameter));
			instructions.add(new MethodInsnNode(Opcodes.INVOKESTATIC, Type.getInternalName(Interleaving.class),
					"caught", "(Ljava/lang/Throwable;)V", false));
			code.instructions.insert(instructions);
			return true;
		});
	}

	/**
	 * Another method is called instead of a static one or one of an object.
	 * @param type the class
	 * @param method the method that calls
	 * @param callee the name of the method that is called no more
	 * @param owner the class of the other one
	 * @param other its name; it is static, and has the same parameters and result. Before
	 * them, it has a parameter of type {@code Object} for that object
	 */
	public static Mutation calledInstead(Class<?> type, String method, String callee, Class<?> owner, String other) {
		return new Mutation(type, method, other + "() instead of " + callee + "()",
				(code) -> forEach(code, callee, (instruction) -> {
					MethodInsnNode call = (MethodInsnNode) instruction;
					if (call.getOpcode() != Opcodes.INVOKESTATIC) {
						call.setOpcode(Opcodes.INVOKESTATIC);
						call.itf = false;
						call.desc = "(" + Type.getDescriptor(Object.class) + call.desc.substring(1);
					}
					call.owner = Type.getInternalName(owner);
					call.name = other;
				}));
	}

	/**
	 * A call is made, but its result is ignored.
	 * @param type the class
	 * @param method the method that calls
	 * @param callee the name of a method that returns an {@code int} or {@code boolean}
	 * @param result what is used instead
	 */
	public static Mutation resultIgnored(Class<?> type, String method, String callee, int result) {
		return new Mutation(type, method, "the result of " + callee + "() is ignored",
				(code) -> forEach(code, callee, (call) -> {
					code.instructions.insert(call, new LdcInsnNode(result));
					code.instructions.insert(call, new InsnNode(Opcodes.POP));
				}));
	}

	/**
	 * A sum is its first summand.
	 * @param type the class
	 * @param method the method that adds {@code long} values
	 */
	public static Mutation withoutSum(Class<?> type, String method) {
		return new Mutation(type, method, "nothing is added",
				(code) -> forEach(code, (instruction) -> instruction.getOpcode() == Opcodes.LADD,
						(instruction) -> code.instructions.set(instruction, new InsnNode(Opcodes.POP2))));
	}

	/**
	 * A constant of an {@code enum} becomes another one.
	 * @param type the class
	 * @param method the method that reads it
	 * @param constant the name of the constant
	 * @param other the name of the other one
	 */
	public static Mutation constantInstead(Class<?> type, String method, String constant, String other) {
		return new Mutation(type, method, other + " instead of " + constant,
				(code) -> forEach(code, (instruction) -> isField(instruction, Opcodes.GETSTATIC, constant),
						(instruction) -> ((FieldInsnNode) instruction).name = other));
	}

	/**
	 * Some cases of a {@code switch} fall to its default.
	 * @param type the class
	 * @param method the method of the only {@code switch}
	 * @param cases the numbers of the cases
	 */
	public static Mutation withoutCases(Class<?> type, String method, Integer... cases) {
		return new Mutation(type, method, "without cases " + List.of(cases), (code) -> {
			boolean found = false;
			for (AbstractInsnNode instruction : code.instructions) {
				if (instruction instanceof TableSwitchInsnNode table) {
					for (int number : cases) {
						table.labels.set(number - table.min, table.dflt);
						found = true;
					}
				}
				else if (instruction instanceof LookupSwitchInsnNode lookup) {
					for (Integer number : cases) {
						lookup.labels.set(lookup.keys.indexOf(number), lookup.dflt);
						found = true;
					}
				}
			}
			return found;
		});
	}

	/**
	 * A call with which a statement begins is made before an earlier statement.
	 * @param type the class
	 * @param method the method of both
	 * @param callee the method that the last such statement calls
	 * @param earlier a method that the other statement calls, or a field that it writes
	 */
	public static Mutation calledBefore(Class<?> type, String method, String callee, String earlier) {
		return new Mutation(type, method, callee + "() before " + earlier, (code) -> {
			List<AbstractInsnNode> later = statement(code, callee, true);
			List<AbstractInsnNode> before = statement(code, earlier, false);
			if (later.isEmpty() || before.isEmpty()) {
				return false;
			}
			int local = code.maxLocals;
			code.maxLocals += 2;
			for (AbstractInsnNode instruction : later) {
				code.instructions.remove(instruction);
				code.instructions.insertBefore(before.get(0), instruction);
				if (isCall(instruction, callee)) {
					Type result = Type.getReturnType(((MethodInsnNode) instruction).desc);
					AbstractInsnNode next = later.get(later.indexOf(instruction) + 1);
					code.instructions.insertBefore(before.get(0),
							new VarInsnNode(result.getOpcode(Opcodes.ISTORE), local));
					code.instructions.insertBefore(next, new VarInsnNode(result.getOpcode(Opcodes.ILOAD), local));
					break;
				}
			}
			return true;
		});
	}

	/**
	 * Changes a class. Fails if there is nothing to change.
	 * @param type the class
	 */
	public void apply(ClassNode type) {
		boolean applied = false;
		for (MethodNode code : type.methods) {
			if (code.name.equals(this.method) || code.name.startsWith("lambda$" + this.method + "$")) {
				applied |= this.edit.test(code);
			}
		}
		if (!applied) {
			throw new IllegalStateException("Nothing to change for " + this);
		}
	}

	/**
	 * The instructions of the first or last line with a call of a method or a write to a
	 * field; or a read, if the name says so. Without those that say where it is.
	 */
	private static List<AbstractInsnNode> statement(MethodNode code, String member, boolean last) {
		List<AbstractInsnNode> found = List.of();
		List<AbstractInsnNode> statement = new ArrayList<>();
		for (AbstractInsnNode instruction : code.instructions) {
			if (instruction instanceof LineNumberNode) {
				statement = new ArrayList<>();
			}
			else if (instruction.getOpcode() >= 0) {
				statement.add(instruction);
				if ((last || found.isEmpty()) && (isCall(instruction, member)
						|| isField(instruction, Opcodes.PUTFIELD, member) || (member.startsWith(READ)
								&& isField(instruction, Opcodes.GETFIELD, member.substring(READ.length()))))) {
					found = statement;
				}
			}
		}
		return found;
	}

	private static boolean isCall(AbstractInsnNode instruction, String name) {
		return instruction instanceof MethodInsnNode call && call.name.equals(name);
	}

	private static boolean isField(AbstractInsnNode instruction, int opcode, String name) {
		return instruction instanceof FieldInsnNode field && field.getOpcode() == opcode && field.name.equals(name);
	}

	private static boolean forEach(MethodNode code, Predicate<AbstractInsnNode> matches,
			Consumer<AbstractInsnNode> edit) {
		boolean found = false;
		for (AbstractInsnNode instruction : code.instructions.toArray()) {
			if (matches.test(instruction)) {
				edit.accept(instruction);
				found = true;
			}
		}
		return found;
	}

	/** A name with a number behind <code>#</code> stands for one access of several. */
	private static boolean forEach(MethodNode code, String callee, Consumer<AbstractInsnNode> edit) {
		return forEach(code, callee, Mutation::isCall, edit);
	}

	private static boolean forEach(MethodNode code, String name, BiPredicate<AbstractInsnNode, String> matches,
			Consumer<AbstractInsnNode> edit) {
		String[] parts = name.split("#");
		List<AbstractInsnNode> found = new ArrayList<>();
		forEach(code, (instruction) -> matches.test(instruction, parts[0]), found::add);
		if (parts.length == 2) {
			int number = Integer.parseInt(parts[1]);
			found = (number <= found.size()) ? List.of(found.get(number - 1)) : List.of();
		}
		found.forEach(edit);
		return !found.isEmpty();
	}

	private static void replaceCall(MethodNode code, MethodInsnNode call, int result) {
		InsnList instead = new InsnList();
		Type[] arguments = Type.getArgumentTypes(call.desc);
		for (int i = arguments.length - 1; i >= 0; i--) {
			instead.add(new InsnNode((arguments[i].getSize() == 2) ? Opcodes.POP2 : Opcodes.POP));
		}
		if (call.getOpcode() != Opcodes.INVOKESTATIC) {
			instead.add(new InsnNode(Opcodes.POP));
		}
		constant(instead, Type.getReturnType(call.desc), result);
		replace(code, call, instead);
	}

	private static void constant(InsnList to, Type type, int value) {
		switch (type.getSort()) {
			case Type.VOID -> {
			}
			case Type.LONG -> to.add(new LdcInsnNode((long) value));
			case Type.OBJECT, Type.ARRAY -> to.add(new InsnNode(Opcodes.ACONST_NULL));
			default -> to.add(new LdcInsnNode(value));
		}
	}

	private static void replace(MethodNode code, AbstractInsnNode instruction, InsnList instead) {
		code.instructions.insert(instruction, instead);
		code.instructions.remove(instruction);
	}

	@Override
	public boolean equals(Object other) {
		return other instanceof Mutation mutation && this.type == mutation.type && this.method.equals(mutation.method)
				&& this.description.equals(mutation.description);
	}

	@Override
	public int hashCode() {
		return Objects.hash(this.type, this.method, this.description);
	}

	@Override
	public String toString() {
		return "%s.%s: %s".formatted(this.type.getSimpleName(), this.method, this.description);
	}

}
