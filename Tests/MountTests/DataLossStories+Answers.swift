import FileProvider
import FileProviderTesting
import Foundation
import MountHarness
import SyncEngine
import Testing
import Trees

// What the store says is not what is so: it does not answer, answers late, or with less than there is.
extension DataLossStories {
    typealias FaultyStore = FaultInjectingProvider<InMemoryProvider>

    // rclone #9873.
    @Test(
        "changed in the store, then saved here before we learn of it: both are kept, for every kind of save",
        arguments: saves.keys.sorted())
    func remoteChangeBeforeTheSave(_ save: String) async throws {
        let script = try #require(Self.saves[save])
        let provider = FaultyStore(InMemoryProvider(pageSize: 50))
        try provider.base.put("doc.txt", "old")
        // (A name that was given up for longer is a document that was moved away.)
        var times = SyncTimes.quick
        times.settle = 1
        try await withServedMount(provider, times: times) { mount throws in
            #expect(try mount.run("cat doc.txt") == "old")
            // What would tell us of it hangs.
            let gate = Gate()
            for hook in [Hook.providePlaceholder, .enumerateItems, .enumerateChanges] {
                provider.plan.inject(.hang(gate), into: hook, times: 1_000)
            }
            try provider.base.put("doc.txt", "theirs, and longer")
            #expect(try mount.run("cat doc.txt; \(script)") == "old")
            // Sent, against the version that it started from.
            try waitUntil(10, "ours was sent") {
                provider.plan.attempts(of: .itemChanged) + provider.plan.attempts(of: .deleteItem) > 0
            }
            provider.plan.clear()
            gate.open()
            #expect(try mount.sync().isEmpty)
            let store = provider.base.snapshot()
            #expect(store["doc.txt"] == .document(Array("theirs, and longer".utf8)))
            let copies = Self.copies(store.keys.sorted())
            #expect(copies.count == 1 && store.count == 2, "\(store.keys)")
            #expect(copies.map { store[$0] } == [.document(Array("saved".utf8))])
            try waitUntil(10, "both are here") {
                try mount.run("cat doc.txt *'conflicted copy'*") == "theirs, and longersaved"
            }
        }
    }

    // rclone #9530.
    @Test(
        "an error of the store is not taken for a deletion, nor for an empty document",
        arguments: [
            FileProviderError.Code.serverUnreachable, .notAuthenticated, .permissionDenied, .cannotSynchronize, .busy,
            .unsupported, .syncAnchorExpired, .insufficientQuota,
        ])
    func errorIsNoDeletion(_ code: FileProviderError.Code) async throws {
        let provider = FaultyStore(InMemoryProvider(pageSize: 50))
        for number in 1...12 { try provider.base.put("folder \(number % 3)/doc \(number)", "number \(number)\n") }
        try await withServedMount(provider) { mount throws in
            let list = "find . -mindepth 1 -printf '%P %y %i %s\\n' | sort"
            let before = try mount.run(list)
            #expect(try mount.run("cat 'folder 1/doc 1'") == "number 1\n")
            let inStore = provider.base.snapshot()
            for hook in [
                Hook.providePlaceholder, .enumerateItems, .enumerateChanges, .currentSyncAnchor, .startProvidingItem,
            ] {
                provider.plan.fail(hook, times: 10_000, with: code)
            }
            // The store says again and again that something is new there.
            for number in 1...12 {
                if let item = provider.base.item(at: "folder \(number % 3)/doc \(number)") {
                    provider.base.signal(.item(item.identifier))
                    provider.base.signal(.folder(item.parentIdentifier))
                }
            }
            try waitUntil(10, "it was asked") {
                provider.plan.attempts(of: .providePlaceholder) + provider.plan.attempts(of: .enumerateItems)
                    + provider.plan.attempts(of: .enumerateChanges) > 0
            }
            #expect(try mount.run(list) == before)
            let read = try mount.shell("cat 'folder 2/doc 2'")
            #expect(!read.succeeded && !read.stdout.contains("number"), "\(read)")
            #expect(try mount.run("cat 'folder 1/doc 1'") == "number 1\n")
            provider.plan.clear()
            #expect(try mount.sync().isEmpty)
            #expect(try mount.run(list) == before)
            #expect(try mount.run("cat 'folder 2/doc 2'") == "number 2\n")
            #expect(provider.base.snapshot() == inStore)
            #expect(provider.base.calls(of: .deleteItem).isEmpty && provider.base.calls(of: .moveItem).isEmpty)
        }
    }

    // s3fs-fuse #2621; nextcloud/desktop #9776.
    @Test(
        "a download that ends early, with or without an error, does not truncate the document in the store",
        arguments: [0, 1, 50_000], [true, false])
    func truncatedDownload(bytes: Int64, isSilent: Bool) async throws {
        let provider = FaultyStore(InMemoryProvider(pageSize: 50))
        let old = noise(100_000)
        try provider.base.put("doc.bin", old)
        try await withServedMount(provider) { mount throws in
            #expect(try mount.run("stat -c %s doc.bin") == "100000\n")
            let error = isSilent ? nil : FileProviderError(.serverUnreachable, "The line was cut.")
            provider.plan.inject(
                .truncatedDownload(after: bytes, error: error), into: .startProvidingItem, times: 10_000)
            // A change of the end, which needs the rest before it can be sent.
            let appended = try mount.shell("printf more >> doc.bin", limit: 30)
            let new = appended.succeeded ? old + Array("more".utf8) : old
            _ = try mount.sync(limit: 2)
            // It may have come in many short pieces.
            let sent = try #require(provider.base.read("doc.bin"))
            #expect(sent == old || sent == new)
            let copied = try mount.shell("cp doc.bin \"$SCRATCH/copy.bin\"", limit: 30)
            if copied.succeeded { #expect(try Seeding(mount.sandbox.scratch).read("copy.bin") == new) }
            if bytes < 2 { #expect(!copied.succeeded && sent == old) }
            provider.plan.clear()
            #expect(try mount.sync().isEmpty)
            #expect(provider.base.read("doc.bin") == new)
            #expect(try mount.run("stat -c %s doc.bin") == "\(new.count)\n")
            #expect(provider.base.snapshot().count == 1)
        }
    }
}
