package org.leaderfollowers.spring.cluster;

import java.io.IOException;
import java.util.concurrent.Callable;

import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.core.HazelcastInstanceAware;
import com.hazelcast.nio.ObjectDataInput;
import com.hazelcast.nio.ObjectDataOutput;
import com.hazelcast.nio.serialization.DataSerializable;
import org.jspecify.annotations.Nullable;

/**
 * A message on its way to a node, or the lease of its sender on the way to a member.
 * Returns what the receiver answers, or {@code null} if it is not there. Its name and its
 * form are part of what nodes of different versions exchange.
 */
final class HazelcastMessage implements Callable<byte[]>, DataSerializable, HazelcastInstanceAware {

	/** The key of the engine in the context of its member. */
	private String engine = "";

	/** The receiver of a message, or nothing for a lease. */
	private String node = "";

	private byte[] content = {};

	private @Nullable HazelcastInstance member;

	/** For Hazelcast. */
	HazelcastMessage() {
	}

	HazelcastMessage(String engine, String node, byte[] content) {
		this.engine = engine;
		this.node = node;
		this.content = content;
	}

	@Override
	public void setHazelcastInstance(HazelcastInstance member) {
		this.member = member;
	}

	/**
	 * Fails in no other way: Hazelcast runs a task again after some exceptions, which
	 * would deliver the message twice.
	 */
	@Override
	public byte @Nullable [] call() {
		if (this.member == null
				|| !(this.member.getUserContext().get(this.engine) instanceof HazelcastClusterEngine receiver)) {
			return null;
		}
		return this.node.isEmpty() ? receiver.exchange(this.content) : receiver.receive(this.node, this.content);
	}

	@Override
	public void writeData(ObjectDataOutput out) throws IOException {
		out.writeString(this.engine);
		out.writeString(this.node);
		out.writeByteArray(this.content);
	}

	@Override
	public void readData(ObjectDataInput in) throws IOException {
		this.engine = string(in);
		this.node = string(in);
		byte[] bytes = in.readByteArray();
		this.content = (bytes != null) ? bytes : this.content;
	}

	private static String string(ObjectDataInput in) throws IOException {
		String string = in.readString();
		return (string != null) ? string : "";
	}

}
