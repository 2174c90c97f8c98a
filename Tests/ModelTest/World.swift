import FileProvider
import FileProviderTesting
import Glibc
import ItemCatalog
import Trees

/// A store, a machine with the daemon, its programs, and the model of what they must see.
///
/// Unchecked: one thread alone uses it (see ``Schedule``).
final class World: @unchecked Sendable {
    let sequence: OperationList
    let base: InMemoryProvider
    let model = Model()
    var ledger = Ledger()
    private(set) var life: Life!
    private(set) var machine: Machine!
    private let directory: String
    private var lives = 0

    var isOffline = false
    private var faults: [Hook: [GatedStore.Fault]] = [:]
    /// The contents of every version that the store gave out.
    private var history: [ItemIdentifier: [ContentVersion: [UInt8]]] = [:]

    /// Whether both sides change the same files: what the mount shows may change under the programs.
    var isRacing = false
    /// Whether there were faults since both sides last agreed, so that calls that need the store may fail.
    var hasTrouble = false
    /// Whether a call hung for minutes, and may still.
    private(set) var hasHung = false
    var random = Random(0)
    private(set) var violation: String?
    private(set) var story: [String] = []
    var keepsStory = false

    static let hooks: [Hook] = [
        .createItem, .itemChanged, .moveItem, .deleteItem, .updateMetadata, .startProvidingItem, .enumerateItems,
        .enumerateChanges, .providePlaceholder, .trashItem, .currentSyncAnchor,
    ]

    init(_ sequence: OperationList, directory: String) throws {
        self.sequence = sequence
        self.directory = directory
        Schedule.shared.reset()
        var features: InMemoryProvider.Features = []
        if sequence.hasChanges { features.insert(.changes) }
        if sequence.hasTrash { features.insert(.trash) }
        base = InMemoryProvider(
            pageSize: 3, pieceSize: 4_096, signalsOwnChanges: sequence.signalsOwn, features: features)
        mkdir(directory, 0o700)
        try begin("\(directory)/0")
    }

    private func begin(_ folder: String) throws {
        life = try Life(
            directory: folder, store: GatedStore(base, self), isPassthrough: sequence.isPassthrough)
        machine = Machine(life) { [unowned self] in run(until: $0) }
    }

    /// Kills the daemon, and starts it again. The generator decides which calls under way still reach the store.
    func kill() throws {
        let left = Schedule.shared.forget()
        lives += 1
        let heir = "\(directory)/\(lives)"
        try life.kill(heir: heir)
        for event in left {
            guard let afterDeath = event.afterDeath, random.chance(1, in: 2) else { continue }
            log("still arrives: \(event.what)")
            let flag = Flag()
            Task {
                await afterDeath()
                flag.isUp = true
            }
            _ = run { flag.isUp }
        }
        Schedule.shared.forget()
        try begin(heir)
    }

    /// Unchecked: one thread alone uses it (see ``Schedule``).
    private final class Flag: @unchecked Sendable { var isUp = false }

    /// Ends without any check.
    func end() {
        Schedule.shared.forget()
        try? life.kill(heir: directory + "/end")
        Files.removeTree(directory)
    }

    // MARK: Log

    func fail(_ what: String) {
        if violation == nil { violation = what }
        log("FAILED: \(what)")
    }

    func log(_ what: String) {
        Schedule.shared.note(what.utf8)
        if keepsStory { story.append(what) }
    }

    // MARK: Running

    /// Lets everything go on, time included, until `condition` holds. False: it never will.
    func run(until condition: () -> Bool) -> Bool {
        let end = Schedule.shared.now + 7_200 * 1_000_000_000
        var steps = 0
        while !condition() {
            if !Schedule.shared.step(&random), !Schedule.shared.pass(until: end) { return false }
            steps += 1
            if steps > 2_000_000 || Schedule.shared.now > end { return false }
        }
        return true
    }

    func run(steps: Int) { for _ in 0..<steps { if !Schedule.shared.step(&random) { return } } }

    /// Lets this much time pass; calls under way at the end stay so.
    func run(milliseconds: Int) {
        let end = Schedule.shared.now + Int64(milliseconds) * 1_000_000
        while Schedule.shared.now < end {
            if !Schedule.shared.step(&random), !Schedule.shared.pass(until: end) { return }
        }
    }

    // MARK: The store

    func inject(_ hook: Hook, _ fault: GatedStore.Fault) { faults[hook, default: []].append(fault) }
    func clearFaults() { faults = [:] }

    func takeFault(_ hook: Hook) -> GatedStore.Fault? {
        guard !isOffline, var left = faults[hook], !left.isEmpty else { return nil }
        let fault = left.removeFirst()
        faults[hook] = left
        if fault == .hang { hasHung = true }
        return fault
    }

    /// The store has taken contents from here.
    func storeHas(_ bytes: [UInt8], _ item: Item) {
        remember(bytes, item)
        if !ledger.wholes.contains(bytes) {
            fail(
                "half-written: the store was given \(Contents.show(bytes)) for \(item.filename), which no program saved"
            )
        }
    }

    func remember(_ bytes: [UInt8], _ item: Item) {
        history[item.identifier, default: [:]][item.version.content] = bytes
    }

    /// Whether these bytes are the beginning of a version that the other client replaced before more than its size was
    /// requested.
    func isBeginningOfAVersion(_ bytes: [UInt8]) -> Bool {
        history.values.contains { $0.values.contains { $0.count > bytes.count && $0.starts(with: bytes) } }
    }

    func known(_ identifier: ItemIdentifier, _ version: ContentVersion) -> [UInt8]? { history[identifier]?[version] }

    func observe() throws -> Observation { try Observation(life) { known($0, $1) } }
}
