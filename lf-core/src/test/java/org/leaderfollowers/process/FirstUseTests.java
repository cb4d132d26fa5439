package org.leaderfollowers.process;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.leaderfollowers.internal.demultiplexing.HandleState;
import org.leaderfollowers.internal.demultiplexing.ReadyQueue;
import org.leaderfollowers.internal.demultiplexing.UpdateQueue;
import org.leaderfollowers.internal.promotion.Leadership;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The first event of a process comes when its heap is used up. No step of the protocols
 * between the leader, the owner of a handle and other threads allocates, so none fails.
 */
@EnabledOnOs(OS.LINUX)
class FirstUseTests {

	/** Takes each step for the first time while no object can be created. */
	static final class Full extends LineProgram {

		private static final int PARTICIPANT = 1;

		private final HandleState handle = new HandleState() {
		};

		private final ReadyQueue<HandleState> ready = new ReadyQueue<>();

		private final UpdateQueue updates = new UpdateQueue(() -> this.woken = true);

		private final UpdateQueue.Consumer<HandleState> onUpdate = (handle, requests) -> this.applied = requests;

		private final Leadership leadership = new Leadership();

		private boolean woken;

		private int applied;

		@Override
		public Serializable answer(String question) {
			Map<String, Runnable> steps = new LinkedHashMap<>();
			steps.put("release", this.handle::release);
			steps.put("begin to wait", this.updates::beginWait);
			steps.put("request", () -> this.updates.request(this.handle, 1));
			steps.put("end to wait", this.updates::endWait);
			steps.put("apply", () -> this.updates.applyUpdates(HandleState.class, this.onUpdate));
			steps.put("arm", this.handle::arm);
			steps.put("claim", this.handle::claimFired);
			steps.put("reserve", this.ready::reserve);
			steps.put("add", () -> this.ready.add(this.handle));
			steps.put("lead", () -> this.leadership.take(PARTICIPANT));
			steps.put("lease", () -> this.leadership.lease(PARTICIPANT, 0));
			steps.put("regain", () -> this.leadership.regain(PARTICIPANT));
			steps.put("give up", () -> this.leadership.giveUp(PARTICIPANT, 0));
			steps.put("take", this.ready::take);
			steps.put("release the armed handle", this.handle::release);
			List<String> names = List.copyOf(steps.keySet());
			ArrayList<String> failed = new ArrayList<>();
			withoutMemory(steps.values().toArray(Runnable[]::new))
				.forEach((step, failure) -> failed.add(names.get(step) + ": " + failure));
			if (!this.woken || this.applied != 1 || !this.handle.isArmed() || !this.leadership.isVacant()) {
				failed.add("not done");
			}
			return failed;
		}

		/**
		 * Takes steps while no object can be created.
		 * @return the indices of those that fail, and their failures
		 */
		static Map<Integer, Throwable> withoutMemory(Runnable... steps) {
			Throwable[] failures = new Throwable[steps.length];
			Object[] kept = new Object[0];
			for (int size = 1 << 20; size >= 0; size = (size > 0) ? size / 2 : -1) {
				try {
					while (true) {
						kept = (size > 0) ? new Object[] { kept, new byte[size] } : new Object[] { kept };
					}
				}
				catch (OutOfMemoryError ex) {
					// And smaller objects.
				}
			}
			for (int i = 0; i < steps.length; i++) {
				failures[i] = run(steps[i]);
			}
			kept[0] = null;
			Map<Integer, Throwable> failed = new LinkedHashMap<>();
			for (int i = 0; i < steps.length; i++) {
				if (failures[i] != null) {
					failed.put(i, failures[i]);
				}
			}
			return failed;
		}

		private static @Nullable Throwable run(Runnable step) {
			try {
				step.run();
				return null;
			}
			catch (Throwable ex) {
				return ex;
			}
		}

	}

	@Test
	@SuppressWarnings("unchecked")
	void noStepAllocates() {
		try (ServerProcess server = ServerProcess.of(Full.class).start()) {
			assertThat((List<String>) server.ask("steps")).isEmpty();
		}
	}

}
