import FileProvider
import FileProviderTesting
import MountHarness
import Synchronization

/// A store in memory that tells what changed since an anchor. An anchor is the number of a state of the store that was
/// looked at; `5>9@20` is between two pages.
final class AnchoredProvider: ForwardingProvider, ChangeEnumerating {
    let base = InMemoryProvider()
    let pageSize: Int

    struct Controls: Sendable {
        /// Anchors before this one have expired.
        var firstAnchor = 0
        /// The next questions for changes fail, with these.
        var failures: [FileProviderError.Code] = []
        /// Every answer names this anchor, and says that there is more.
        var circle: SyncAnchor?
        /// Runs when an answer has been made, before it is given.
        var beforeAnswer: (@Sendable () async -> Void)?
    }
    private struct State {
        var states: [[ItemIdentifier: Item]] = []
        var controls = Controls()
        var questions: [String] = []
    }
    private let state = Mutex(State())

    init(pageSize: Int = 100) { self.pageSize = pageSize }

    var controls: Controls {
        get { state.withLock { $0.controls } }
        set { state.withLock { $0.controls = newValue } }
    }
    /// The anchors that were asked from so far.
    var questions: [String] { state.withLock { $0.questions } }
    func forgetQuestions() { state.withLock { $0.questions = [] } }

    func currentSyncAnchor() async throws(FileProviderError) -> SyncAnchor { SyncAnchor("\(recordState())") }

    func enumerateChanges(from anchor: SyncAnchor) async throws(FileProviderError) -> ChangePage {
        let text = String(decoding: anchor.bytes, as: UTF8.self)
        let controls = state.withLock { state in
            state.questions.append(text)
            return state.controls
        }
        if let code = controls.failures.first {
            state.withLock { _ = $0.controls.failures.removeFirst() }
            throw FileProviderError(code, "A test wanted it so.")
        }
        if let circle = controls.circle { return ChangePage(anchor: circle, hasMore: true) }
        let page = try page(from: text, controls)
        await controls.beforeAnswer?()
        return page
    }

    private func page(from text: String, _ controls: Controls) throws(FileProviderError) -> ChangePage {
        let numbers = text.split { ">@".contains($0) }.compactMap { Int($0) }
        guard let from = numbers.first, from >= controls.firstAnchor else {
            throw FileProviderError(.syncAnchorExpired, "That was too long ago.")
        }
        let to = numbers.count == 3 ? numbers[1] : recordState()
        let first = numbers.count == 3 ? numbers[2] : 0
        let (old, new) = state.withLock { ($0.states[from], $0.states[to]) }
        let updated = new.values.filter { old[$0.identifier] != $0 }
        let deleted = old.keys.filter { new[$0] == nil }
        // Deletions first, and what is in a folder before it: any order will do.
        let changes: [(Item?, ItemIdentifier)] =
            deleted.map { (nil, $0) }
            + updated.sorted { $0.parentIdentifier.rawValue > $1.parentIdentifier.rawValue }.map { ($0, $0.identifier) }
        let end = min(changes.count, first + pageSize)
        let part = changes[first..<end]
        return ChangePage(
            updated: part.compactMap(\.0), deleted: part.filter { $0.0 == nil }.map(\.1),
            anchor: SyncAnchor(end < changes.count ? "\(from)>\(to)@\(end)" : "\(to)"), hasMore: end < changes.count)
    }

    /// The number of the store's present state.
    private func recordState() -> Int {
        let items = Dictionary(uniqueKeysWithValues: base.items().values.map { ($0.identifier, $0) })
        return state.withLock { state in
            state.states.append(items)
            return state.states.count - 1
        }
    }
}

/// Its signals end at once.
final class DeafProvider: ForwardingProvider, ChangeSignaling {
    let base = InMemoryProvider()
    func changeSignals() -> AsyncStream<ChangeSignal> { AsyncStream { $0.finish() } }
}
