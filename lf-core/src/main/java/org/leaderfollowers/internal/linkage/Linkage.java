package org.leaderfollowers.internal.linkage;

/**
 * Links accesses through variable handles when their class is initialised.
 * <p>
 * The virtual machine links each such access when it is first executed. For this it calls
 * {@code MethodHandleNatives.linkMethod}, which allocates. If memory is short at that
 * moment, a compare-and-set or a plain store throws an {@link OutOfMemoryError}, perhaps
 * between two steps of a protocol that must not be separated: a handle that was claimed
 * but could not be added to the ready queue belonged to no thread any more. Once they are
 * linked, accesses allocate nothing.
 * <p>
 * A class links an access for all of its methods: they share the entry of the constant
 * pool if the name and the static types of the arguments and of the result are the same.
 */
public final class Linkage {

	private Linkage() {
	}

	/**
	 * Links accesses. Called by the initialiser of the class that they belong to.
	 * @param accesses each performs one access, whose object is {@code null}
	 */
	public static void link(Runnable... accesses) {
		for (Runnable access : accesses) {
			try {
				access.run();
			}
			catch (NullPointerException ex) {
				// The object is looked at after the access was linked.
			}
		}
	}

}
