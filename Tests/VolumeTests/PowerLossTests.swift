import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import SyncEngine
import Testing
import Trees
import Volume

/// What the next daemon makes of what a power loss left: the catalog is as of its last sync or later, and of files that
/// were not synced any part may be zeros.
@Suite struct PowerLossTests {
    private let test: TestVolume

    init() throws { test = try TestVolume(settle: 60, boot: "one") }

    private func file(_ lookup: Lookup, in other: TestVolume? = nil) -> String {
        let inode = lookup.attributes.record.id.rawValue
        let shard = inode < 16 ? "0" + String(inode, radix: 16) : String(inode & 0xff, radix: 16)
        return "\((other ?? test).directory)/content/storage/\(shard)/\(inode).\(lookup.attributes.record.generation)"
    }

    /// What delayed allocation leaves of bytes that were not synced: the size, and zeros.
    ///
    /// - Parameter end: bytes from here on are there; nil: none.
    private func lose(_ path: String, keepingDate: Bool = true, upTo end: Int? = nil) throws {
        var status = stat()
        #expect(stat(path, &status) == 0)
        let kept = try end.map { try Data(contentsOf: URL(filePath: path)).dropFirst($0) } ?? Data()
        #expect(truncate(path, 0) == 0 && truncate(path, status.st_size) == 0)
        if let end {
            let file = try FileHandle(forUpdating: URL(filePath: path))
            try file.seek(toOffset: UInt64(end))
            try file.write(contentsOf: kept)
            try file.close()
        }
        guard keepingDate else { return }
        var times = [status.st_atim, status.st_mtim]
        #expect(utimensat(AT_FDCWD, path, &times, 0) == 0)
    }

    /// The catalog knows that the document is here, and its file has the document's date.
    private func isRecorded(_ name: Filename) throws -> Bool {
        guard let inode = try test.durably({ try $0.child(of: .root, named: name) }), inode.extents == nil else {
            return false
        }
        let file = test.store.status(GenerationID(inode: inode.id.rawValue, number: inode.generation))
        return file?.modified == inode.modified.nanoseconds
    }

    private func copies(_ volume: TestVolume) -> [String] {
        volume.remote.snapshot().keys.filter { $0.contains("conflicted copy") }.sorted()
    }

    @Test func unsyncedBytesAreNeverSentOverTheOriginal() async throws {
        try test.remote.put("a", "original")
        let opened = try await test.open("a", O_RDWR)
        _ = try await test.read(opened.handle)
        try test.write(opened.handle, "CHANGED!")
        try test.close(opened.handle)
        try lose(file(try await test.lookUp("a")))
        let next = try await test.killed(boot: "two")
        #expect(try await next.contents("a") == "original")
        #expect(try await next.sync().isEmpty)
        #expect(next.remote.read("a") == Array("original".utf8))
        // Kept all the same: nobody knows what of it is there.
        let copy = try #require(copies(next).first)
        #expect(next.remote.read(copy) == [UInt8](repeating: 0, count: 8))
        #expect(try next.catalog.read { try $0.conflicts() }.map(\.reason) == [.powerLoss])
    }

    @Test func theSameBootTrustsWhatWasNotSynced() async throws {
        try test.remote.put("a", "original")
        let opened = try await test.open("a", O_RDWR)
        _ = try await test.read(opened.handle)
        try test.write(opened.handle, "CHANGED!")
        try test.close(opened.handle)
        let next = try await test.killed(boot: "one")
        #expect(try await next.sync().isEmpty)
        #expect(next.remote.read("a") == Array("CHANGED!".utf8))
        #expect(copies(next) == [])
    }

    @Test(arguments: [true, false]) func whatWasSyncedIsSentUnderItsName(_ passthrough: Bool) async throws {
        let test = try TestVolume(passthrough: passthrough, settle: 60, boot: "one")
        try test.remote.put("a", "original")
        #expect(try await test.contents("a") == "original")
        let opened = try await test.open("a", O_RDWR)
        try test.write(opened.handle, "CHANGED!")
        try test.volume.synchronize(opened.handle)
        try test.close(opened.handle)
        let next = try await test.killed(boot: "two")
        #expect(try await next.sync().isEmpty)
        #expect(next.remote.read("a") == Array("CHANGED!".utf8))
        #expect(copies(next) == [])
    }

    /// The catalog's note of a sync came to the disk, and the power went before the file's mark and bytes did.
    @Test func aNoteWithoutItsMarkIsNotTrusted() async throws {
        let test = try TestVolume(settle: 60, boot: "one", keepsOrder: true)
        try test.remote.put("a", "original")
        #expect(try await test.contents("a") == "original")
        test.engine.makeDownloadsDurable()
        let opened = try await test.open("a", O_RDWR)
        try test.write(opened.handle, "CHANGED!")
        try test.volume.synchronize(opened.handle)
        let record = try await test.lookUp("a").attributes.record
        let mark = try #require(try test.catalog.read { try $0.synced(record.id)?.mark })
        // As if the mark of this sync had not come to the disk.
        let content = try #require(
            test.store.opened(GenerationID(inode: record.id.rawValue, number: record.generation)))
        #expect(test.store.setSyncMark(~mark, of: content))
        try test.close(opened.handle)
        let path = file(try await test.lookUp("a"), in: test)
        try lose(path)
        let next = try await test.killed(boot: "two")
        #expect(try await next.sync().isEmpty)
        #expect(next.remote.read("a") == Array("original".utf8))
        #expect(copies(next).count == 1)
    }

    /// A second sync of the same bytes may end too early; the first one holds. So their note waits for no mark.
    @Test func aSecondSyncOfTheSameBytesGivesNoMark() async throws {
        let test = try TestVolume(settle: 60, boot: "one", keepsOrder: true)
        let (lookup, created) = try await test.create("new")
        let id = lookup.attributes.record.id
        func note() throws -> SyncedContents? { try test.catalog.read { try $0.synced(id) } }
        var marks: Set<UInt64?> = []
        for text in ["synced", "synced again"] {
            try test.write(created.handle, text)
            try test.volume.synchronize(created.handle)
            #expect(try note()?.size == Int64(text.utf8.count))
            marks.insert(try note()?.mark)
            try test.volume.synchronize(created.handle)
            #expect(try note()?.size == Int64(text.utf8.count) && note()?.mark == nil)
        }
        #expect(marks.count == 2 && !marks.contains(nil))
    }

    /// A note that was not true is none after the next boot either, for a document that the store never had.
    @Test func aNoteThatWasNotTrueIsForgotten() async throws {
        let test = try TestVolume(settle: 60, boot: "one", keepsOrder: true)
        let (lookup, created) = try await test.create("new")
        try test.write(created.handle, "synced")
        try test.volume.synchronize(created.handle)
        let record = lookup.attributes.record
        let content = try #require(
            test.store.opened(GenerationID(inode: record.id.rawValue, number: record.generation)))
        let mark = try #require(try test.catalog.read { try $0.synced(record.id)?.mark })
        #expect(test.store.setSyncMark(~mark, of: content))
        try test.close(created.handle)
        let next = try await test.killed(boot: "two")
        #expect(try next.catalog.read { try $0.synced(record.id) } == nil)
        #expect(try await next.sync().isEmpty)
        #expect(next.remote.read("new") == Array("synced".utf8))
    }

    /// A mark would change the ctime, by which the next daemon after a kill sees that a program wrote to the file.
    @Test func aSyncWithoutChangesLeavesTheFileAsItIs() async throws {
        let test = try TestVolume(passthrough: true, settle: 60, boot: "one", keepsOrder: true)
        let (lookup, created) = try await test.create("new")
        try test.write(created.handle, "synced")
        try test.volume.flush(created.handle)
        let record = try test.catalog.read { try $0.inode(lookup.attributes.record.id) }
        let id = GenerationID(inode: record.id.rawValue, number: record.generation)
        let before = test.store.status(id)
        try test.volume.synchronize(created.handle)
        #expect(test.store.status(id)?.changed == before?.changed && test.store.syncMark(of: id) == nil)
    }

    /// A daemon was killed between the note and the end of the sync, and the next one ended in good order: then everything is
    /// durable.
    @Test func anEndInGoodOrderTrustsNoMark() async throws {
        let test = try TestVolume(settle: 60, boot: "one", keepsOrder: true)
        let (lookup, created) = try await test.create("new")
        try test.write(created.handle, "synced")
        try test.volume.synchronize(created.handle)
        try test.close(created.handle)
        await test.engine.stop()
        test.volume.putAway()
        let known = try test.catalog.read { try $0.synced(lookup.attributes.record.id) }
        #expect(known != nil && known?.mark == nil)
    }

    /// As vim does: a draft, fsync, rename. The document goes on with the draft's bytes.
    @Test func aSyncedDraftStaysSyncedWhenItIsRenamed() async throws {
        try test.remote.put("a", "original")
        #expect(try await test.contents("a") == "original")
        let (_, created) = try await test.create("draft")
        try test.write(created.handle, "CHANGED!")
        try test.volume.synchronize(created.handle)
        try test.close(created.handle)
        try await test.answer {
            try test.volume.rename("draft", in: .root, to: "a", in: .root, noReplace: false)
        }
        let next = try await test.killed(boot: "two")
        #expect(try await next.sync().isEmpty)
        #expect(next.remote.read("a") == Array("CHANGED!".utf8))
        #expect(copies(next) == [])
    }

    /// A program appends to a placeholder and syncs; the rest of the document is downloaded afterwards, and that is
    /// what a power loss takes. Neither the sync nor the downloaded part may be in doubt: a copy with zeros would be
    /// kept beside the document.
    @Test(arguments: [false, true]) func bytesThatCameAfterASyncComeAgain(_ writesMore: Bool) async throws {
        let text = String(repeating: "0123456789", count: 2_000)
        try test.remote.put("a", text)
        let gate = Gate()
        test.provider.plan.inject(.hang(gate), into: .startProvidingItem)
        let opened = try await test.open("a", O_RDWR)
        try test.write(opened.handle, "SYNCED", at: 20_000)
        try test.volume.synchronize(opened.handle)
        gate.open()
        #expect(try await test.read(opened.handle).count == 20_006)
        let (path, id) = (file(try await test.lookUp("a")), try await test.lookUp("a").attributes.record.id)
        #expect(
            try await eventually { try test.durably { try $0.undurable(id) != nil && $0.inode(id).extents == nil } })
        if writesMore { try test.write(opened.handle, "LATER", at: 20_006) }
        try test.close(opened.handle)
        try lose(path, upTo: 20_000)
        let next = try await test.killed(boot: "two")
        #expect(try await next.sync().isEmpty)
        if writesMore {
            #expect(next.remote.read("a") == Array(text.utf8))
            #expect(copies(next).map { next.remote.read($0) } == [Array((text + "SYNCEDLATER").utf8)])
        } else {
            #expect(next.remote.read("a") == Array((text + "SYNCED").utf8))
            #expect(copies(next) == [])
        }
    }

    /// A program writes into a placeholder and syncs, then writes elsewhere in it without a sync. The catalog knows the later
    /// bytes, because another document was synced; the file is as it was at its own sync.
    @Test func bytesWrittenAfterASyncAreNotTrustedWithIt() async throws {
        let text = String(repeating: "0123456789", count: 2_000)
        try test.remote.put("a", text)
        let gate = Gate()
        test.provider.plan.inject(.hang(gate), into: .startProvidingItem)
        let opened = try await test.open("a", O_RDWR)
        try test.write(opened.handle, "SYNCED", at: 0)
        try test.volume.synchronize(opened.handle)
        let path = file(try await test.lookUp("a"))
        var status = stat()
        #expect(stat(path, &status) == 0)
        try test.write(opened.handle, "LATER", at: 8_000)
        try test.volume.synchronizeCatalog()
        // What the power loss takes: the later bytes, and the later date.
        let file = try FileHandle(forUpdating: URL(filePath: path))
        try file.seek(toOffset: 8_000)
        try file.write(contentsOf: Data(count: 5))
        try file.close()
        var times = [status.st_atim, status.st_mtim]
        #expect(utimensat(AT_FDCWD, path, &times, 0) == 0)
        let next = try await test.killed(boot: "two")
        gate.open()
        #expect(try await next.sync().isEmpty)
        #expect(next.remote.read("a") == Array(("SYNCED" + text.dropFirst(6)).utf8))
        #expect(copies(next) == [])
    }

    /// The sync was noted while the download that it made durable was not recorded yet.
    @Test func aDownloadThatIsRecordedAfterTheSyncIsDurable() async throws {
        try test.remote.put("a", "original")
        let opened = try await test.open("a", O_RDWR)
        _ = try await test.read(opened.handle)
        try test.write(opened.handle, "CHANGED!")
        try test.volume.synchronize(opened.handle)
        let record = try await test.lookUp("a").attributes.record
        try test.catalog.write { try $0.noteUndurable(record.id, generation: record.generation) }
        try test.close(opened.handle)
        let next = try await test.killed(boot: "two")
        #expect(try await next.sync().isEmpty)
        #expect(next.remote.read("a") == Array("CHANGED!".utf8))
        #expect(copies(next) == [])
    }

    @Test func whatIsWrittenAfterTheLastSyncIsNotTrusted() async throws {
        try test.remote.put("a", "original")
        #expect(try await test.contents("a") == "original")
        for text in ["FIRST...", "SECOND.."] {
            let opened = try await test.open("a", O_RDWR)
            try test.write(opened.handle, text)
            if text == "FIRST..." { try test.volume.synchronize(opened.handle) }
            try test.close(opened.handle)
        }
        let next = try await test.killed(boot: "two")
        #expect(try await next.sync().isEmpty)
        #expect(next.remote.read("a") == Array("original".utf8))
        #expect(copies(next).map { next.remote.read($0) } == [Array("SECOND..".utf8)])
    }

    /// The catalog's word that the document was changed again did not come to the disk; the file has it.
    @Test func aFileThatIsNotAsItWasSyncedIsNotTrusted() async throws {
        try test.remote.put("a", "original")
        #expect(try await test.contents("a") == "original")
        let opened = try await test.open("a", O_RDWR)
        try test.write(opened.handle, "CHANGED!")
        try test.volume.synchronize(opened.handle)
        try test.close(opened.handle)
        try lose(file(try await test.lookUp("a")), keepingDate: false)
        let next = try await test.killed(boot: "two")
        #expect(try await next.sync().isEmpty)
        #expect(next.remote.read("a") == Array("original".utf8))
        #expect(copies(next).count == 1)
    }

    /// A download may end long after its last byte has come. Its end must not give the file the date that it had at its
    /// sync.
    @Test func theLateEndOfADownloadDoesNotHideALaterChange() async throws {
        try test.remote.put("a", "original")
        let gate = Gate()
        test.provider.plan.inject(.lateEnd(gate), into: .startProvidingItem)
        // (A reader that stays: the end of the last one would cancel the download.)
        let reader = try await test.open("a")
        let reading = Task { [test] in try await test.read(reader.handle) }
        await gate.waitForArrivals()
        let opened = try await test.open("a", O_RDWR)
        try test.write(opened.handle, "CHANGED!")
        try test.volume.synchronize(opened.handle)
        try test.close(opened.handle)
        let id = try await test.lookUp("a").attributes.record.id
        #expect(
            try await eventually {
                test.volume.endWritingNow()
                return try test.durably { try $0.inode(id).writing } == nil
            })
        try lose(file(try await test.lookUp("a")), keepingDate: false)
        #expect(gate.waitingCount == 1)
        gate.open()
        #expect(try await eventually { test.engine.transfers.now().isEmpty })
        _ = await reading.result
        test.engine.recordAllDownloads()
        let next = try await test.killed(boot: "two")
        #expect(try await next.sync().isEmpty)
        #expect(next.remote.read("a") == Array("original".utf8))
        #expect(copies(next).count == 1)
    }

    @Test func aWholeDownloadIsTrustedAndAPartialOneComesAgain() async throws {
        let text = String(repeating: "x", count: 400_000)
        try test.remote.put("whole", "whole")
        try test.remote.put("touched", "touched")
        try test.remote.put("partial", text)
        #expect(try await test.contents("whole") == "whole")
        #expect(try await test.contents("touched") == "touched")
        for name in ["whole", "touched"] as [Filename] { #expect(try await eventually { try isRecorded(name) }) }
        test.engine.makeDownloadsDurable()
        test.provider.plan.bandwidth = 200_000
        let opened = try await test.open("partial")
        _ = try await test.read(opened.handle, 0, 100)
        test.volume.close(opened.handle)
        test.provider.plan.bandwidth = nil
        // Somebody wrote into it, and the catalog's word for that did not come to the disk.
        try lose(file(try await test.lookUp("touched")), keepingDate: false)
        let next = try await test.killed(boot: "two")
        test.remote.forgetCalls()
        #expect(try await next.contents("whole") == "whole")
        #expect(test.remote.calls(of: .startProvidingItem).isEmpty)
        #expect(try await next.contents("touched") == "touched")
        #expect(try await next.contents("partial") == text)
        #expect(try next.pendingNames() == [])
    }

    /// The catalog's word for it came to the disk before the bytes did.
    @Test func aDownloadThatIsNotDurableYetComesAgain() async throws {
        try test.remote.put("a", "original")
        #expect(try await test.contents("a") == "original")
        #expect(try await eventually { try isRecorded("a") })
        try lose(file(try await test.lookUp("a")))
        let next = try await test.killed(boot: "two")
        #expect(try await next.contents("a") == "original")
        #expect(try next.pendingNames() == [])
    }

    /// The store has its bytes; that its name is another here does not make them a change.
    @Test func alsoOneThatWasRenamedHere() async throws {
        try test.remote.put("a", "original")
        #expect(try await test.contents("a") == "original")
        #expect(try await eventually { try isRecorded("a") })
        let path = file(try await test.lookUp("a"))
        try await test.answer { try test.volume.rename("a", in: .root, to: "b", in: .root, noReplace: false) }
        try lose(path)
        let next = try await test.killed(boot: "two")
        #expect(try await next.contents("b") == "original")
        #expect(try next.pendingNames() == ["b"])
    }

    @Test(arguments: [3, 40]) func aDownloadIsSyncedBehindItsReader(_ count: Int) async throws {
        for index in 0..<count { try test.remote.put("document-\(index)", "original") }
        for index in 0..<count {
            #expect(try await test.contents("document-\(index)") == "original")
        }
        func waiting() throws -> Int { try test.catalog.read { try $0.undurable() }.count }
        func areRecorded() throws -> Bool { try (0..<count).allSatisfy { try isRecorded(Filename("document-\($0)")) } }
        #expect(try await eventually { try areRecorded() })
        #expect(try waiting() == count)
        test.engine.makeDownloadsDurable()
        #expect(try waiting() == 0)
    }

    /// More of it came while what was there was being synced.
    @Test func whatComesMeanwhileIsNotTakenForDurable() async throws {
        try test.remote.put("a", "original")
        #expect(try await test.contents("a") == "original")
        #expect(try await eventually { try isRecorded("a") })
        let before = try test.catalog.read { try $0.undurable() }
        let inode = try #require(before.first)
        try test.catalog.write { try $0.noteUndurable(inode.inode, generation: inode.number) }
        try test.catalog.write { try $0.forgetUndurable(before) }
        #expect(try test.catalog.read { try $0.undurable() }.map(\.inode) == [inode.inode])
    }

    @Test func aNewDocumentOfWhichNothingIsLeftGoes() async throws {
        let lookup = try await test.save("new", "never synced")
        try FileManager.default.removeItem(atPath: file(lookup))
        let next = try await test.killed(boot: "two")
        #expect(try await next.find("new") == nil)
        #expect(try await next.sync().isEmpty)
        #expect(next.remote.snapshot().isEmpty)
    }

    /// The draft that took its place is not durable, and the document's bytes are needed again.
    @Test func bytesThatWereSyncedStayUntilTheirEndIsDurable() async throws {
        let first = try await test.save("a", "first")
        let opened = try await test.open("a", O_RDWR)
        try test.volume.synchronize(opened.handle)
        try test.close(opened.handle)
        let bytes = file(first)
        let waiting = bytes.replacing(/storage\/[0-9a-f]+/, with: "removed")
        try await test.answer { try test.volume.unlink("a", in: .root) }
        test.volume.forget(first.node, count: 100)
        #expect(!FileManager.default.fileExists(atPath: bytes) && FileManager.default.fileExists(atPath: waiting))
        // As if the catalog's last change had not come to the disk.
        let number = first.attributes.record
        let id = GenerationID(inode: number.id.rawValue, number: number.generation)
        test.store.restoreSetAside { $0 == id }
        #expect(FileManager.default.fileExists(atPath: bytes) && !FileManager.default.fileExists(atPath: waiting))
        test.store.setAside(id)
        try test.volume.synchronizeCatalog()
        // (Behind whoever waited for the catalog.)
        #expect(try await eventually { !FileManager.default.fileExists(atPath: waiting) })
        #expect(!FileManager.default.fileExists(atPath: bytes))
    }

    @Test func aDaemonThatEndsPutsAllOfItAway() async throws {
        try test.remote.put("a", "original")
        #expect(try await test.contents("a") == "original")
        let opened = try await test.open("a", O_RDWR)
        try test.write(opened.handle, "CHANGED!")
        try test.close(opened.handle)
        await test.engine.stop()
        test.volume.putAway()
        let next = try await test.killed(boot: "two")
        #expect(try await next.sync().isEmpty)
        #expect(next.remote.read("a") == Array("CHANGED!".utf8))
        #expect(copies(next) == [])
    }

    /// The index and the catalog may have lost what they were told last, each for itself.
    @Test func theIndexOfNamesIsMadeAnew() async throws {
        func range(_ test: TestVolume) throws -> ClosedRange<Int64>? {
            let names = try NameIndex(path: test.directory + "/names", catalog: test.catalog) {
                String(decoding: $0, as: UTF8.self)
            }
            defer { names.close() }
            let range = names.range
            while try names.grow() {}
            return range
        }
        _ = try await test.create("report")
        #expect(try range(test) == nil)
        #expect(try range(test) != nil)
        let restarted = try await test.killed(boot: "one")
        #expect(try range(restarted) != nil)
        let next = try await restarted.killed(boot: "two")
        #expect(try range(next) == nil)
        #expect(try range(next) != nil)
    }
}
