import FileProvider
import FileProviderTesting
import Foundation
import MountHarness
import SyncEngine
import Testing

/// A store that fails: each call of a recorded workload goes wrong once, in each way that a call can.
///
/// Whatever it was: no program reads a wrong byte (an errno it may get), and when the store answers again both sides have
/// all of it, byte for byte, without a conflicted copy.
@Suite(.timeLimit(.minutes(5))) struct FailingStoreTests {
    /// The n-th call of a hook in a step of the workload.
    struct Call: Hashable, Sendable, CustomStringConvertible {
        var step: Int
        var hook: Hook
        /// From 0.
        var number: Int
        var description: String { "\(hook.rawValue) \(number + 1) of “\(StoreWorkload.steps[step].name)”" }
    }

    enum Trouble: String, CaseIterable, Sendable {
        case error, hang, late, twice, short, surplus
        /// The connection breaks (in the middle of a transfer): the store has done nothing, or all of it, or does it later.
        case disconnectBefore, disconnectAfter, disconnectAndLater

        /// Why it cannot happen to a hook; nil when it can.
        func reasonAgainst(_ hook: Hook) -> String? {
            let changes: Set<Hook> = [.itemChanged, .createItem, .moveItem, .deleteItem, .updateMetadata]
            switch self {
            case .error, .hang, .late, .disconnectBefore: return nil
            case .twice: return hook == .providePlaceholder ? "to look twice is to look" : nil
            case .short, .surplus:
                if [.startProvidingItem, .enumerateItems, .itemChanged, .createItem].contains(hook) { return nil }
                return "its answer has nothing that could be more or less"
            case .disconnectAfter, .disconnectAndLater:
                return changes.contains(hook) ? nil : "nothing is changed: as disconnectBefore"
            }
        }
    }

    private static let pauses = (hang: Duration.milliseconds(250), readTimeout: 0.12)

    private static var times: SyncTimes {
        var times = SyncTimes.quick
        // Sent is at the end of each step, by `sync`: a temporary file never is.
        times.settle = 60
        times.settleAfterSync = 60
        times.firstRetry = 0.02
        times.longestRetry = 0.1
        times.readTimeout = pauses.readTimeout
        times.stopProviding = 3_600
        times.quotaAfterChange = 3_600
        return times
    }

    // MARK: One run

    /// - Returns: how many calls of each hook each step made, and whether the trouble came about.
    private static func run(_ trouble: (call: Call, Trouble)?) throws -> (calls: [Call], happened: Bool) {
        let remote = InMemoryProvider(pieceSize: 4_096)
        try StoreWorkload.fill(remote)
        let store = StoreWorkload.Store(OddAnswers(remote))
        let directory = NSTemporaryDirectory() + "failing-store-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let here = try InProcessStore(provider: store, directory: directory, times: times)
        defer { try? blocking { await here.stop() } }
        let load = StoreWorkload(here: here, store: store)
        let gate = Gate()
        defer { gate.open() }
        var calls: [Call] = []
        var happened = false
        for (number, step) in StoreWorkload.steps.enumerated() {
            let isMeant = trouble?.call.step == number
            if isMeant, let (call, kind) = trouble { prepare(kind, call, store, gate) }
            let before = Hook.allCases.map { store.plan.attempts(of: $0) }
            try step.run(load)
            try load.settle()
            for (hook, count) in zip(Hook.allCases, before) where hook != .stopProvidingItem {
                calls += (0..<max(0, store.plan.attempts(of: hook) - count)).map {
                    Call(step: number, hook: hook, number: $0)
                }
            }
            if isMeant, let hook = trouble?.call.hook {
                happened = store.plan.remainingFaults(for: hook) == 0 && !store.base.isArmed
            }
            // The store has recovered; what hangs goes on hanging for its time.
            store.plan.clear()
            store.base.disarm()
        }
        gate.open()
        if let wrong = try load.verdict() { throw StoreWorkload.Failure(description: wrong) }
        return (calls, happened)
    }

    private static func prepare(_ trouble: Trouble, _ call: Call, _ store: StoreWorkload.Store, _ gate: Gate) {
        let isTransfer = [Hook.startProvidingItem, .itemChanged, .createItem].contains(call.hook)
        func inject(_ fault: Fault) {
            // A truncation that is none: these calls go well.
            store.plan.inject(.truncatedDownload(after: .max, error: nil), into: call.hook, times: call.number)
            store.plan.inject(fault, into: call.hook)
        }
        let openLater = {
            _ = Task {
                await gate.waitForArrivals()
                try await Task.sleep(for: pauses.hang)
                gate.open()
            }
        }
        let place: Int64 = isTransfer ? 5_000 : 0
        switch trouble {
        case .error: inject(.error(FileProviderError(.cannotSynchronize, "A test wanted it so.")))
        case .hang:
            inject(.hang(gate))
            openLater()
        case .late:
            inject(.lateAnswer(gate))
            openLater()
        case .twice:
            if [.startProvidingItem, .enumerateItems].contains(call.hook) { return inject(.duplicate) }
            store.base.arm(.twice, call.hook, after: call.number)
        case .short:
            if call.hook == .startProvidingItem { return inject(.truncatedDownload(after: place, error: nil)) }
            store.base.arm(.short, call.hook, after: call.number)
        case .surplus:
            if call.hook == .startProvidingItem { return inject(.surplusBytes(100)) }
            store.base.arm(.surplus, call.hook, after: call.number)
        case .disconnectBefore: inject(.disconnect(after: place, .undone))
        case .disconnectAfter: inject(.disconnect(after: place, .done))
        case .disconnectAndLater:
            inject(.disconnect(after: place, .doneLater(gate)))
            openLater()
        }
    }

    // MARK: All of them

    /// The workload without a fault; what each of its steps asks of the store.
    private static func recorded() throws -> [Call] { try run(nil).calls }

    @Test func theWorkloadAsksEverythingOfTheStore() async throws {
        let calls = try await onThread { try Self.recorded() }
        let hooks = Set(calls.map(\.hook))
        let others: Set<Hook> = [
            .stopProvidingItem, .currentSyncAnchor, .enumerateChanges, .copyItem, .trashItem, .thumbnail,
            .keepThumbnail, .quota, .search, .trashedItems, .restoreTrashedItem, .shareLink, .sharedLinks,
            .endSharedLink, .setFavorite, .versions, .startProvidingVersion,
        ]
        #expect(hooks == Set(Hook.allCases).subtracting(others))
        for trouble in Trouble.allCases {
            #expect(hooks.contains { trouble.reasonAgainst($0) == nil }, "\(trouble) never happens")
        }
    }

    @Test(arguments: Trouble.allCases)
    func nothingIsLostAndNoByteIsWrong(trouble: Trouble) async throws {
        let calls = try await onThread { try Self.recorded() }.filter { trouble.reasonAgainst($0.hook) == nil }
        let missed = await withTaskGroup(of: Bool.self) { group in
            var missed = 0
            for (index, call) in calls.enumerated() {
                if index >= 4, await group.next() == true { missed += 1 }
                group.addTask { await Self.misses(call, trouble) }
            }
            for await isMissed in group where isMissed { missed += 1 }
            return missed
        }
        #expect(missed * 3 <= calls.count, "of \(calls.count) calls \(missed) did not come again")
    }

    /// What the engine asks by itself may come a step earlier or later: then nothing went wrong.
    private static func misses(_ call: Call, _ trouble: Trouble) async -> Bool {
        do { return try await !onThread { try run((call, trouble)) }.happened } catch {
            Issue.record("\(trouble) in \(call): \(error)")
            return false
        }
    }
}
