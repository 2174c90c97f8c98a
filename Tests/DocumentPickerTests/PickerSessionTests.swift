import Foundation
import Synchronization
import Testing
import UniformTypes

@testable import DocumentPicker

@Suite("The picker's session")
struct PickerSessionTests {
    /// Takes its time over the first page, as one does that is not scheduled; closes the picker a while later.
    private final class SlowFront: DocumentPickerFront {
        let shown = Mutex<[PickerView]>([])
        private let isFirst = Mutex(true)
        private let stream: AsyncStream<PickerAction>
        private let inbox: AsyncStream<PickerAction>.Continuation

        init() { (stream, inbox) = AsyncStream<PickerAction>.makeStream() }

        func show(_ view: PickerView) async {
            let waits = isFirst.withLock { first in
                defer { if view.screen == .page { first = false } }
                return first && view.screen == .page
            }
            if waits { try? await Task.sleep(for: .milliseconds(300)) }
            let pages = shown.withLock { shown in
                shown.append(view)
                return shown.compactMap(\.page)
            }
            // Both the slow one and the one after it have been shown.
            if pages.contains(where: \.isLoading), pages.contains(where: { !$0.isLoading }) { inbox.yield(.cancel) }
        }

        func actions() -> AsyncStream<PickerAction> { stream }
    }

    @Test("a front end that is slow with one view then gets the newest one", .timeLimit(.minutes(5)))
    func order() async throws {
        let source = FileManager.default.temporaryDirectory.appending(path: "hydrant-\(UUID().uuidString).txt")
        try Data("text".utf8).write(to: source)
        defer { try? FileManager.default.removeItem(at: source) }
        // (A folder to put something into shows its page at once.)
        let provider = PickerProvider(
            id: "box",
            manifest: DocumentPickerManifest(
                identifier: "box", name: "Box", modes: [.export], supportedTypes: [.item, .content], fileProvider: "p"),
            mountPoint: "/nowhere", storeLocation: nil, domain: "box", isReadOnly: false, problem: nil)
        try #require(provider.manifest.isDropBox)
        var picker = try DocumentPicker(.export, source: source)
        picker.providers = { [provider] }
        let front = SlowFront()
        #expect(try await picker.present(on: front).map(\.url) == nil)
        let views = front.shown.withLock { $0 }
        let pages = views.filter { $0.screen == .page }.compactMap(\.page)
        #expect(pages.first?.isLoading == true)
        #expect(pages.last?.isLoading == false)
        #expect(pages.last?.message == "Documents that are put here are not listed.")
        #expect(views.last?.screen == .cancelled)
    }

    /// Does one thing after another: the next one when the view is as it waits for.
    private final class ScriptedFront: DocumentPickerFront {
        typealias Step = (isReady: @Sendable (PickerView) -> Bool, action: PickerAction)
        let shown = Mutex<[PickerView]>([])
        let refusals = Mutex<[String]>([])
        private let steps: Mutex<[Step]>
        private let (stream, inbox) = AsyncStream<PickerAction>.makeStream()

        init(_ steps: [Step]) { self.steps = Mutex(steps) }

        func show(_ view: PickerView) async {
            shown.withLock { $0.append(view) }
            go(view)
        }
        func refused(_ action: PickerAction, _ why: String) async {
            refusals.withLock { $0.append(why) }
            if let view = shown.withLock({ $0.last }) { go(view) }
        }
        private func go(_ view: PickerView) {
            let next = steps.withLock { steps -> PickerAction? in
                guard let first = steps.first, first.isReady(view) else { return nil }
                return steps.removeFirst().action
            }
            if let next { inbox.yield(next) }
        }
        func actions() -> AsyncStream<PickerAction> { stream }
    }

    @Test("an action during an error counts; an error is shown once")
    func errors() async throws {
        let source = FileManager.default.temporaryDirectory.appending(path: "hydrant-\(UUID().uuidString).txt")
        try Data("text".utf8).write(to: source)
        defer { try? FileManager.default.removeItem(at: source) }
        let provider = PickerProvider(
            id: "box",
            manifest: DocumentPickerManifest(
                identifier: "box", name: "Box", modes: [.export], supportedTypes: [.item, .content], fileProvider: "p"),
            mountPoint: "/nowhere", storeLocation: nil, domain: "box", isReadOnly: false, problem: nil)
        var picker = try DocumentPicker(.export, source: source)
        picker.providers = { [provider] }
        let front = ScriptedFront([
            ({ $0.screen == .page && $0.page?.isLoading == false }, .signIn("nobody asks")),
            ({ $0.screen == .page }, .putHere("a/b")),
            // Not dismissed: the next thing is done at once.
            ({ $0.error?.contains("a/b") == true }, .putHere("..")),
            ({ $0.error?.contains("..") == true }, .cancel),
        ])
        #expect(try await picker.present(on: front).map(\.url) == nil)
        let views = front.shown.withLock { $0 }
        #expect(front.refusals.withLock { $0 }.count == 1)
        #expect(views.compactMap(\.error) == ["“a/b” cannot be a name", "“..” cannot be a name"])
        #expect(views.last?.screen == .cancelled && views.last?.error == nil)
        #expect(zip(views, views.dropFirst()).allSatisfy { $0 != $1 })
    }
}
