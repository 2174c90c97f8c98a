import FileProvider
import Foundation
import MountHarness
import Testing

@testable import DirectoryProvider

/// A new version is on the disk before it takes the old one's place: a power cut leaves one of the two, whole.
@Suite struct DurabilityTests {
    @Test(arguments: [false, true])
    func theBytesAreDurableBeforeTheyGetTheName(isNew: Bool) async throws {
        let holder = Holder()
        let store = try TestStore(seams: .with { $0.beforeCommit = { holder.act() } })
        let recorder = SyncRecorder(below: store.root)
        let old = isNew ? nil : try await store.create("a", "one")
        recorder.forget()
        var before: [String] = []
        holder.action = {
            before = recorder.synced
            recorder.forget()
        }
        if let old { _ = try await store.change(old, to: "two") } else { _ = try await store.create("a", "two") }
        #expect(before.contains { TemporaryName.kind(of: Array($0.utf8)) == .draft }, "\(before)")
        #expect(recorder.synced == [""], "then the folder, that the name is durable as well")
        #expect(store.read("a") == "two")
    }
}
