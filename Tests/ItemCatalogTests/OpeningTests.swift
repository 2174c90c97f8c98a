import FileProvider
import Foundation
import ItemCatalog
import MountHarness
import Testing
import Trees

@Suite struct OpeningTests {
    private let directory: String

    init() throws {
        directory = NSTemporaryDirectory() + "opening-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    private func open(_ name: String = "catalog", domain: String = "dir:/a") throws -> Catalog {
        try Catalog(path: directory + "/" + name, domain: domain, owner: (12, 34))
    }

    private func error(_ body: () throws -> Void) -> CatalogError? {
        do {
            try body()
            return nil
        } catch {
            return error as? CatalogError
        }
    }

    @Test func aFreshCatalogHasARootOfItsOwner() throws {
        let catalog = try open()
        defer { catalog.close() }
        let root = try catalog.read { try $0.inode(.root) }
        #expect(root.kind == .folder)
        #expect(root.uid == 12 && root.gid == 34)
        #expect(root.linkCount == 2)
        #expect(!root.isEnumerated)
        let item = try catalog.read { try $0.item(of: .root) }
        #expect(item?.identifier == .rootContainer)
        #expect(try catalog.read { try $0.hasPending() } == false)
    }

    /// Another program that looks into it takes the log away when it believes that it is the last one.
    @Test func whoLooksIntoItTakesNothingAway() throws {
        let catalog = try open()
        defer { catalog.close() }
        catalog.reserveRoom(1 << 20)
        try catalog.write { try $0.takeNote("a", "1") }
        let path = directory + "/catalog"
        let reader = Process()
        reader.executableURL = URL(filePath: "/usr/bin/sqlite3", directoryHint: .notDirectory)
        reader.arguments = [path, "SELECT value FROM domain WHERE key = 'a'"]
        let output = Pipe()
        reader.standardOutput = output
        try reader.run()
        reader.waitUntilExit()
        #expect(String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self) == "1\n")
        #expect(FileManager.default.fileExists(atPath: path + "-wal"))
        try catalog.write { try $0.takeNote("a", "2") }
        #expect(try SQLite.execute("SELECT value FROM domain WHERE key = 'a'", in: path) == [["2"]])
    }

    @Test func reopeningFindsWhatWasThere() throws {
        let first = try open()
        try first.write {
            _ = try $0.create(
                NewFile(kind: .folder, mode: 0o700, uid: 1, gid: 2), in: .root, named: "kept", settle: 0)
        }
        first.close()
        let second = try open()
        defer { second.close() }
        let found = try second.read { try $0.child(of: .root, named: "kept") }
        #expect(found?.mode == 0o700)
        #expect(try second.read { try $0.inode(.root) }.uid == 12)
    }

    @Test func anotherDomainsCatalogIsRefusedAndNamed() throws {
        try open().close()
        let refused = error { try open(domain: "dir:/b").close() }
        #expect(refused?.code == .wrongDomain)
        #expect(refused?.message.contains("dir:/a") == true)
        #expect(refused?.message.contains("dir:/b") == true)
        // And it is unharmed by the attempt.
        try open().close()
    }

    @Test func aNewerVersionsCatalogIsRefused() throws {
        try open().close()
        try SQLite.execute(
            "INSERT INTO grdb_migrations VALUES ('999 from the future')", in: directory + "/catalog")
        let refused = error { try open().close() }
        #expect(refused?.code == .newerVersion)
        #expect(refused?.message.contains("newer") == true)
        #expect(refused?.message.contains(directory) == true)
    }

    @Test func aGarbageFileIsRefusedAndKept() throws {
        let path = directory + "/catalog"
        let garbage = Data((0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try garbage.write(to: URL(filePath: path, directoryHint: .notDirectory))
        let refused = error { try open().close() }
        #expect(refused?.code == .damaged)
        #expect(refused?.message.contains("damaged") == true)
        #expect(FileManager.default.contents(atPath: path) == garbage)
    }

    @Test func aFolderThatCannotBeWrittenIsRefusedWithItsPath() throws {
        let refused = error {
            _ = try Catalog(path: directory + "/missing/catalog", domain: "d", owner: (0, 0))
        }
        #expect(refused != nil)
        #expect(refused?.message.contains("missing/catalog") == true)
    }

    /// SIGKILL leaves the files as they are at that moment: a copy of them must hold every commit.
    @Test func aCommitSurvivesAKilledProcess() throws {
        let catalog = try open()
        defer { catalog.close() }
        for number in 0..<50 {
            try catalog.write {
                _ = try $0.create(
                    NewFile(kind: .folder, mode: 0o755, uid: 0, gid: 0), in: .root,
                    named: Filename("folder \(number)"), settle: 0)
            }
        }
        try #require(FileManager.default.fileExists(atPath: directory + "/catalog-wal"))
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(
                atPath: directory + "/catalog" + suffix, toPath: directory + "/copy" + suffix)
        }
        let copy = try open("copy")
        defer { copy.close() }
        #expect(try copy.read { try $0.children(of: .root, after: 0, limit: 100) }.count == 50)
        #expect(try copy.read { try $0.allPending(limit: 100) }.count == 50)
    }

    @Test func aTransactionThatThrowsLeavesNothing() throws {
        let catalog = try open()
        defer { catalog.close() }
        let failed = error {
            try catalog.write { writer in
                _ = try writer.create(
                    NewFile(kind: .document, mode: 0o644, uid: 0, gid: 0), in: .root, named: "half", settle: 0)
                throw CatalogError(.unsupported, "enough")
            }
        }
        #expect(failed?.code == .unsupported)
        #expect(try catalog.read { try $0.child(of: .root, named: "half") } == nil)
        #expect(try catalog.read { try $0.hasPending() } == false)
    }

    @Test func synchronizeWorksWithAndWithoutALog() throws {
        let catalog = try open()
        try catalog.synchronize()
        try catalog.write {
            _ = try $0.create(
                NewFile(kind: .document, mode: 0o644, uid: 0, gid: 0), in: .root, named: "x", settle: 0)
        }
        try catalog.synchronize()
        catalog.close()
    }
}
