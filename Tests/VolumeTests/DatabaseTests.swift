import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import Testing
import Trees
import Volume

@testable import SyncEngine

/// Databases, and the files that they keep beside themselves.
@Suite struct DatabaseTests {
    private let test: TestVolume
    private static let header = "SQLite format 3\0 and what follows"
    /// Of a rollback journal, sqlite.org/fileformat2.html#the_rollback_journal.
    private static let journalMagic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]

    init() throws { test = try TestVolume() }

    private func save(_ name: Filename, _ bytes: [UInt8]) async throws {
        let (_, opened) = try await test.create(name)
        if !bytes.isEmpty { try bytes.withUnsafeBytes { try test.volume.write(opened.handle, $0, at: 0) } }
        try test.close(opened.handle)
    }

    private func item(_ name: Filename) throws -> ItemRecord {
        try test.catalog.read { reader in
            let inode = try #require(try reader.child(of: .root, named: name))
            return try #require(try reader.item(of: inode.id))
        }
    }

    /// Sends what can be sent; whether that is all but these. (What is not to go would within a second.)
    private func isAllSent(but wanted: [String]) async throws -> Bool {
        test.engine.start()
        for _ in 0..<60 {
            let left = try await test.engine.sync(timeout: 1).compactMap { $0.local?.name.string }
            if left == wanted { return true }
            if !Set(left).isSuperset(of: wanted) { return false }
        }
        return false
    }

    // MARK: Names

    @Test(
        arguments: [
            ("db-wal", "db"), ("db-journal", "db"), ("db-shm", "db"), ("a b.sqlite-wal", "a b.sqlite"),
            ("x-wal-journal", "x-wal"),
        ] as [(Filename, Filename)])
    func theDatabaseOfAFile(name: Filename, database: Filename) {
        #expect(DatabaseFiles.database(of: name) == database)
    }

    @Test(arguments: ["db", "-wal", "-journal", "-shm", "wal", "db-wal2", "db.wal", "db-WAL", "db-wal ", ""])
    func otherFilesHaveNone(name: Filename) {
        #expect(DatabaseFiles.database(of: name) == nil)
    }

    // MARK: Made beside one

    @Test(arguments: ["db-wal", "db-journal", "db-shm"] as [Filename])
    func whatIsMadeBesideADatabaseStaysHere(name: Filename) async throws {
        try await test.save("db", Self.header)
        try await save(name, [])
        #expect(try item(name).isExcluded)
        #expect(try await test.sync().isEmpty)
        #expect(Set(test.remote.snapshot().keys) == ["db"])
    }

    /// SQLite makes the journal of a new database before the first page.
    @Test func besideAnEmptyDatabaseAsWell() async throws {
        try await test.save("db", "")
        try await save("db-journal", [1])
        #expect(try item("db-journal").isExcluded)
    }

    @Test func besideAnythingElseItIsADocument() async throws {
        try await test.save("travel", "no database at all, but long enough")
        try await save("travel-journal", [1])
        try await save("alone-wal", [1])
        _ = try await test.answer {
            try test.volume.makeFolder("f", in: .root, mode: 0o755, uid: 0, gid: 0)
        }
        try await save("f-wal", [1])
        try test.remote.put("placeholder", Self.header)
        try await test.refresh()
        // What is in it nobody knows yet.
        try await save("placeholder-wal", [1])
        for name in ["travel-journal", "alone-wal", "f-wal", "placeholder-wal"] as [Filename] {
            #expect(try !item(name).isExcluded, "\(name)")
        }
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("travel-journal") == [1])
    }

    // MARK: Held

    enum Beside: CaseIterable { case log, hotJournal, keptJournal, emptyLog, emptyJournal, sharedMemory }

    @Test(arguments: Beside.allCases)
    func whatADatabaseHasNotTakenInHoldsIt(beside: Beside) async throws {
        let (name, bytes, holds): (Filename, [UInt8], Bool) =
            switch beside {
            case .log: ("db-wal", [1, 2, 3], true)
            case .hotJournal: ("db-journal", Self.journalMagic + [1, 2], true)
            // PRAGMA journal_mode = PERSIST overwrites the header with zeros.
            case .keptJournal: ("db-journal", [UInt8](repeating: 0, count: 8) + [1, 2], false)
            case .emptyLog: ("db-wal", [], false)
            // PRAGMA journal_mode = TRUNCATE.
            case .emptyJournal: ("db-journal", [], false)
            case .sharedMemory: ("db-shm", [1, 2, 3], false)
            }
        try await test.save("db", Self.header)
        try await save(name, bytes)
        #expect(try await isAllSent(but: holds ? ["db"] : []))
        #expect((test.remote.read("db") != nil) == !holds)
        guard holds else { return }
        let failure = try #require(try item("db").failure)
        #expect(failure.code == "held" && failure.attempts == 0)
        #expect(failure.message.hasPrefix("\(name) holds a part of this database"))
        // Its program closes it.
        try await test.answer { try test.volume.unlink(name, in: .root) }
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.read("db") == Array(Self.header.utf8))
        #expect(try item("db").failure == nil)
    }

    @Test func noOtherDocumentIsHeld() async throws {
        try await test.save("notes", "not a database, though there is a log beside it")
        try await save("notes-wal", [1, 2, 3])
        try await save("notes-journal", Self.journalMagic)
        #expect(try await test.sync().isEmpty)
        #expect(Set(test.remote.snapshot().keys) == ["notes", "notes-wal", "notes-journal"])
    }
}
