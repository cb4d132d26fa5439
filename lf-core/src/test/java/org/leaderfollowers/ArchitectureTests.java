package org.leaderfollowers;

import java.io.Externalizable;
import java.io.IOException;
import java.io.ObjectInput;
import java.io.ObjectInputStream;
import java.io.ObjectOutput;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReference;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.util.Arrays;
import java.util.Date;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.logging.WireLogWriter;
import org.leaderfollowers.internal.promotion.HandOffRing;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

/** Rules that every class of the engine must keep. */
class ArchitectureTests {

	private static final String ROOT = "org.leaderfollowers";

	/** In lines. */
	private static final int LONGEST_FILE = 620;

	private static final JavaClasses classes = new ClassFileImporter()
		.withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
		.importPackages(ROOT);

	@Test
	void packagesAreFreeOfCycles() {
		slices().assignedFrom(new PackageByPackage()).should().beFreeOfCycles().check(classes);
	}

	@Test
	void machineryKnowsNothingOfThePublicTypes() {
		noClasses().that()
			.resideOutsideOfPackage(ROOT)
			.should()
			.dependOnClassesThat()
			.resideInAPackage(ROOT)
			.allowEmptyShould(true)
			.check(classes);
	}

	/**
	 * Servers use the pool, the pool uses handle sets, and these use values; never the
	 * other way round. The internal packages are below all of them and know none of them.
	 */
	@Test
	void layersAreUsedDownwardsOnly() {
		layeredArchitecture().consideringOnlyDependenciesInLayers()
			.layer("Servers")
			.definedBy(isIn(Layer.SERVERS))
			.layer("Pool")
			.definedBy(isIn(Layer.POOL))
			.layer("Handle sets")
			.definedBy(isIn(Layer.HANDLE_SETS))
			.layer("Values")
			.definedBy(isIn(Layer.VALUES))
			.layer("Machinery")
			.definedBy(ROOT + ".internal..")
			.whereLayer("Servers")
			.mayNotBeAccessedByAnyLayer()
			.whereLayer("Pool")
			.mayOnlyBeAccessedByLayers("Servers")
			.whereLayer("Handle sets")
			.mayOnlyBeAccessedByLayers("Servers", "Pool")
			.whereLayer("Values")
			.mayOnlyBeAccessedByLayers("Servers", "Pool", "Handle sets")
			.check(classes);
	}

	@Test
	void noFileIsTooLongToBeRead() throws IOException {
		Map<String, Long> tooLong = new TreeMap<>();
		try (Stream<Path> files = Files.walk(Path.of("src/main/java"))) {
			for (Path file : files.filter((path) -> path.toString().endsWith(".java")).toList()) {
				try (Stream<String> lines = Files.lines(file)) {
					long count = lines.count();
					if (count > LONGEST_FILE && !file.endsWith("TlsTransport.java")) {
						tooLong.put(file.toString(), count);
					}
				}
			}
		}
		assertThat(tooLong).isEmpty();
	}

	@Test
	void concreteEventHandlersKnowNeitherServersNorThePool() {
		noClasses().that()
			.areAssignableTo(EngineEventHandler.class)
			.or()
			.areAssignableTo(EngineConnection.class)
			.or()
			.belongToAnyOf(Admission.class, ConnectionContext.class, ConnectionRegistry.class, CloseSequence.class,
					OutboundWriter.class, MessageDecoder.class, DatagramReplies.class, DatagramSuspensions.class,
					ServerState.class, ServerWarnings.class, ServerCounters.class, MessageHandler.class)
			.should()
			.dependOnClassesThat()
			.areAssignableTo(Server.class)
			.orShould()
			.dependOnClassesThat()
			.belongToAnyOf(LeaderFollowersPool.class, ServerLifecycle.class, TcpLifecycle.class, UdpLifecycle.class)
			.check(classes);
	}

	@Test
	void thePoolKnowsNoServer() {
		noClasses().that()
			.belongToAnyOf(LeaderFollowersPool.class, HandleSet.class, Participant.class)
			.should()
			.dependOnClassesThat()
			.areAssignableTo(Server.class)
			.orShould()
			.dependOnClassesThat()
			.areAssignableTo(ServerLifecycle.class)
			.check(classes);
	}

	@Test
	void neitherSpringNorMicrometer() {
		noClasses().should()
			.dependOnClassesThat()
			.resideInAnyPackage("org.springframework..", "io.micrometer..")
			.check(classes);
	}

	/**
	 * A log may block. These classes see to it that no thread waits for it that must not.
	 */
	@Test
	void onlyTwoClassesLog() {
		noClasses().that()
			.doNotBelongToAnyOf(EngineLog.class, WireLogWriter.class)
			.should()
			.dependOnClassesThat()
			.belongToAnyOf(Logger.class, LoggerFactory.class)
			.orShould()
			.dependOnClassesThat()
			.areAssignableTo(System.Logger.class)
			.check(classes);
	}

	/**
	 * The calendar clock may be set, back as well as forward, so nothing is measured by
	 * it. These classes only tell people the time: of a snapshot, of the start of a
	 * server, of the end of a wire log, and of a hand-off.
	 */
	@Test
	void nothingIsMeasuredByTheCalendarClock() {
		noClasses().should().callMethod(System.class, "currentTimeMillis").check(classes);
		noClasses().that()
			.doNotBelongToAnyOf(PoolMonitor.class, ServerState.class, WireLog.class, HandOffRing.class)
			.should()
			.callMethod(Instant.class, "now")
			.orShould()
			.dependOnClassesThat()
			.belongToAnyOf(Date.class, Clock.class)
			.check(classes);
	}

	@Test
	void noJavaSerialization() {
		noClasses().should()
			.dependOnClassesThat()
			.belongToAnyOf(ObjectInput.class, ObjectInputStream.class, ObjectOutput.class, ObjectOutputStream.class)
			.check(classes);
		assertThat(classes.that(declareSerializable())).isEmpty();
	}

	@Test
	void everyPackageIsNullMarked() {
		assertThat(classes).isNotEmpty();
		Set<String> unmarked = new TreeSet<>();
		for (JavaClass type : classes) {
			if (!type.getPackage().isAnnotatedWith(NullMarked.class)) {
				unmarked.add(type.getPackageName());
			}
		}
		assertThat(unmarked).isEmpty();
	}

	@Test
	void onlyTheRootPackageIsExported() throws IOException, URISyntaxException {
		Path output = Path.of(PromotionOrder.class.getProtectionDomain().getCodeSource().getLocation().toURI());
		assertThat(ModuleFinder.of(output).findAll()).singleElement()
			.extracting(ModuleReference::descriptor)
			.satisfies((module) -> {
				assertThat(module.name()).isEqualTo(ROOT);
				assertThat(module.exports()).extracting(ModuleDescriptor.Exports::source).containsExactly(ROOT);
				assertThat(module.opens()).isEmpty();
			});
	}

	/**
	 * Matches classes that declare themselves serializable. Exceptions, enums and a few
	 * classes of the JDK that are meant to be extended only make their subclasses inherit
	 * it.
	 */
	private static DescribedPredicate<JavaClass> declareSerializable() {
		return DescribedPredicate.describe("declare Serializable",
				(type) -> type.getRawInterfaces()
					.stream()
					.anyMatch((contract) -> contract.isEquivalentTo(Serializable.class)
							|| contract.isEquivalentTo(Externalizable.class)));
	}

	private static DescribedPredicate<JavaClass> isIn(Layer layer) {
		return DescribedPredicate.describe("is in layer " + layer,
				(type) -> type.getPackageName().equals(ROOT) && Layer.of(type) == layer);
	}

	/** The layers of the root package. A class that is not listed belongs to a server. */
	private enum Layer {

		SERVERS(),

		POOL("LeaderFollowersPool", "PoolBuilder", "PoolOptions", "PoolThreads", "PoolListeners", "PoolMonitor",
				"PoolWatchdog", "PoolShutdown", "StarvationMonitor", "HandOffJournal", "RawEventHandler", "Drainable",
				"EventRoad", "EventSources", "BoundWait", "NestedUpcalls", "DatagramShare"),

		HANDLE_SETS("Handle", "HandleSet", "HandleSets", "HandleTimers", "EventCounters", "Place", "Ready",
				"SelectableHandle", "HandleFactory", "EventHandler", "EngineEventHandler", "SelectorRepair",
				"Participant", "BoundInput", "MessageDecoder", "Turn", "LedSource"),

		VALUES("StackReserve", "HeapReserve", "EngineClasses", "EventType", "ThreadRole", "NestedDispatch",
				"NestingGuard", "PromotionKind", "PromotionOrder", "PromotionPolicy", "PoolListener", "PoolAlarm",
				"PoolSnapshot", "HandOff", "LatencySnapshot", "Connection", "EngineConnection", "ConnectionSnapshot",
				"ConnectionClosedException", "CloseReason", "Suspension", "OwedReply", "MessageHandler", "Framing",
				"RawFraming", "DelimiterFraming", "FixedLengthFraming", "LengthFieldFraming", "EnclosedFraming",
				"EngineFraming", "Escapes", "RespFraming", "FramingException", "SlowConsumerException",
				"ReplyRatioException", "ServerSnapshot", "ClientSnapshot", "ServerTls", "ClientAuth",
				"ClientLimitException", "TransportType", "TrustedNetworks", "Arguments", "EventSource", "QueueSource",
				"CloseRate");

		private final Set<String> names;

		Layer(String... names) {
			this.names = Set.of(names);
		}

		static Layer of(JavaClass type) {
			String name = type.getName().substring(ROOT.length() + 1);
			int nested = name.indexOf('$');
			String topLevel = (nested < 0) ? name : name.substring(0, nested);
			return Arrays.stream(values())
				.filter((layer) -> layer.names.contains(topLevel))
				.findFirst()
				.orElse(SERVERS);
		}

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
