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
            if waits {
                try? await Task.sleep(for: .milliseconds(300))
                Task {
                    try? await Task.sleep(for: .milliseconds(300))
                    inbox.yield(.cancel)
                }
            }
            shown.withLock { $0.append(view) }
        }

        func actions() -> AsyncStream<PickerAction> { stream }
    }

    @Test("a front that is slow with one view shows the next one after it")
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
        #expect(pages.last?.message == "What is put here is not listed.")
        #expect(views.last?.screen == .cancelled)
    }
}
