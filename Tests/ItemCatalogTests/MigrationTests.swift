import FileProvider
import Foundation
import MountHarness
import Testing

@testable import ItemCatalog
@testable import Trees

/// Catalogs of older versions, as they were made by them.
@Suite struct MigrationTests {
    private let directory: String
    private var path: String { directory + "/catalog" }
    private static let domain = "dir:/srv/documents"

    init() throws {
        directory = NSTemporaryDirectory() + "migration-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    /// What `.dump` of the sqlite3 shell said of a catalog of version `number`.
    private static func fixture(_ number: Int) -> String? {
        Bundle.module.url(forResource: "Fixtures/catalog-\(number)", withExtension: "sql")
            .flatMap { try? String(contentsOf: $0, encoding: .utf8) }
    }

    /// A catalog as an older version left it, and what `sql` adds to it.
    private func load(_ number: Int = 1, adding sql: String = "") throws {
        let dump = try #require(Self.fixture(number))
        // (A dump does not say so, and every catalog is.)
        try SQLite.execute("PRAGMA journal_mode = WAL;" + dump + sql, in: path)
    }

    private func open() throws -> Catalog { try Catalog(path: path, domain: Self.domain, owner: (12, 34)) }

    private func raw(_ sql: String) throws -> [[String]] { try SQLite.execute(sql, in: path) }

    /// Of this version, by what it says of a catalog that it made.
    private func migrations() throws -> [String] {
        let fresh = directory + "/fresh"
        try Catalog(path: fresh, domain: Self.domain, owner: (0, 0)).close()
        return try SQLite.execute("SELECT identifier FROM grdb_migrations ORDER BY rowid", in: fresh).map { $0[0] }
    }

    private func refusal(_ other: String? = nil) -> CatalogError? {
        do {
            try Catalog(path: other ?? path, domain: Self.domain, owner: (12, 34)).close()
            return nil
        } catch { return error }
    }

    /// Whoever adds a migration adds a catalog made before it.
    @Test func everyVersionBeforeThisOneHasAFixture() throws {
        let migrations = try migrations()
        let fixtures = (1...migrations.count + 1).filter { Self.fixture($0) != nil }
        #expect(fixtures == Array(1..<migrations.count))
        for number in fixtures {
            let dump = try #require(Self.fixture(number))
            for (index, name) in migrations.enumerated() {
                #expect(dump.contains("'\(name)'") == (index < number), "catalog-\(number).sql and \(name)")
            }
        }
    }

    @Test func everythingIsStillThere() throws {
        try load()
        let catalog = try open()
        defer { catalog.close() }
        func names(_ folder: InodeID) throws -> [String: Int64] {
            let entries = try catalog.read { try $0.children(of: folder, after: 0, limit: 100) }
            return Dictionary(uniqueKeysWithValues: entries.map { ($0.name.string, $0.inode.id.rawValue) })
        }
        #expect(try names(.root) == ["letters": 2, "new.txt": 6, "link2": 3, "folder": 7])
        #expect(try names(InodeID(rawValue: 2)) == ["a.txt": 5])
        func inode(_ path: Filename...) throws -> InodeRecord { try catalog.read { try $0.resolve(path) } }
        func item(_ number: Int64) throws -> ItemRecord {
            try #require(try catalog.read { try $0.item(ItemID(rawValue: number)) })
        }
        let root = try inode()
        // Its owner stays who it was.
        #expect(root.uid == 0 && root.linkCount == 4 && root.isEnumerated && root.mode == 0o755)

        let letters = try inode("letters")
        #expect(letters.isFolder && letters.isEnumerated)
        #expect(letters.modified == FileTime(nanoseconds: 1_795_267_048_793_982_797))

        let link = try inode("link2")
        #expect(link.kind == .link && link.target == Array("letters/a.txt".utf8) && link.size == 13)
        #expect(try item(3).base == TreePlace(parent: .root, name: "link"))
        #expect(try item(3).local == TreePlace(parent: .root, name: "link2"))
        #expect(try item(3).kind == .symbolicLink(target: Array("letters/a.txt".utf8)))

        let document = try inode("letters", "a.txt")
        #expect(document.size == 11 && document.baseSize == 6 && document.extents == nil && document.generation == 1)
        #expect(try item(5).contentRevision == 1)
        #expect(
            try item(5).baseVersion?.content
                == ContentVersion("16228368:1795267048.793982797:6:1795267048.793982797"))
        #expect(try item(5).identifier == ItemIdentifier("i:16228368:1795267048.793982797"))
        #expect(try item(5).remote == item(5).local && item(5).remoteFacts.mode == 0o644)

        let fresh = try inode("new.txt")
        #expect(fresh.mode == 0o600 && fresh.size == 4)
        #expect(try item(6).identifier == nil && item(6).contentRevision == 3 && item(6).metadataRevision == 1)

        // Deleted here, and not at the store yet.
        #expect(try item(4).local == nil && item(4).inode == nil && item(4).remoteFacts.size == 300_000)
        #expect(try item(4).baseVersion == item(4).remoteVersion || item(4).remoteVersion?.metadata.bytes == [])

        #expect(
            try catalog.read { try $0.allPending(limit: 100) }.map(\.id.rawValue) == [3, 4, 5, 6, 7])
        // Version 1 knew none of these.
        for inode in [root, letters, link, document, fresh] {
            #expect(inode.device == 0 && inode.used.nanoseconds == 0 && inode.splitFrom == nil && inode.writing == nil)
            #expect(try catalog.read { try $0.extendedAttributeNames(of: inode.id) } == [])
        }
        #expect(try raw("PRAGMA integrity_check") == [["ok"]])
        #expect(try raw("PRAGMA foreign_key_check") == [])
    }

    /// Version 2 had everything but what items may be used for.
    @Test func everythingOfVersionTwoIsStillThere() throws {
        try load(2)
        let catalog = try open()
        defer { catalog.close() }
        let names = try catalog.read { try $0.children(of: .root, after: 0, limit: 100) }.map(\.name.string).sorted()
        #expect(
            names == [".swap.swp", "a.txt", "big", "folder", "link", "moved.txt", "new.txt", "pipe", "second"])
        func item(_ number: Int64) throws -> ItemRecord {
            try #require(try catalog.read { try $0.item(ItemID(rawValue: number)) })
        }
        for number in Int64(1)...10 { #expect(try item(number).remoteFacts.capabilities == .all) }
        let pending = try catalog.read { try $0.pending(at: .farFuture, limit: 100) }
        #expect(pending.map(\.item.id.rawValue).sorted() == [3, 6, 8, 9])
        #expect(pending.filter { $0.item.local != nil }.allSatisfy { $0.parentIdentifier == .rootContainer })
        #expect(try item(4).isPinned && item(10).isExcluded && item(10).identifier == nil)
        let edited = try catalog.read { try $0.inode(InodeID(rawValue: 6)) }
        #expect(try catalog.read { try $0.userAttributes(of: edited.id) } == ["user.colour": Array("green".utf8)])
        #expect(try raw("SELECT count(*) FROM conflict") == [["0"]])
        #expect(try raw("PRAGMA integrity_check") == [["ok"]])
        #expect(try raw("PRAGMA foreign_key_check") == [])
    }

    /// Version 3 had everything but deletions that are held.
    @Test func everythingOfVersionThreeIsStillThere() throws {
        try load(3)
        let catalog = try open()
        defer { catalog.close() }
        let names = try catalog.read { try $0.children(of: .root, after: 0, limit: 100) }.map(\.name.string)
        #expect(
            names.sorted() == [
                ".x.swp", "a.txt", "doc (conflicted copy, vm, 2026-11-21).txt", "doc.txt", "folder", "letters", "link",
                "new", "pipe", "second",
            ])
        #expect(try catalog.read { try $0.heldDeletions() } == nil)
        let items = try (1...13).compactMap { number in
            try catalog.read { try $0.item(ItemID(rawValue: number)) }
        }
        #expect(items.count == 13 && items.allSatisfy { $0.heldSince == nil })
        #expect(try catalog.read { try $0.allPending(limit: 100) }.map(\.id.rawValue) == [5, 6, 9, 11, 12])
        let conflict = try #require(try catalog.read { try $0.conflicts() }.first)
        #expect(conflict.original == ItemID(rawValue: 7) && conflict.copy == InodeID(rawValue: 10))
        #expect(conflict.reason == .replacedWhileWritten)
        #expect(
            try items[7].isPinned && items[12].isExcluded
                && catalog.read { try $0.userAttributes(of: InodeID(rawValue: 6)) } == [
                    "user.colour": Array("green".utf8)
                ])
        #expect(try raw("PRAGMA integrity_check") == [["ok"]])
        #expect(try raw("PRAGMA foreign_key_check") == [])
    }

    /// Version 8 stores what is equal once: each item is in the same places with the same versions, each inode has the
    /// same times, and most have nothing of their own.
    @Test func whatIsEqualIsStoredOnce() throws {
        try load(
            7,
            adding: """
                UPDATE item SET base_name = x'6f6c64' WHERE id = 7;
                UPDATE item SET remote_parent = 2, remote_name = x'746865726500' WHERE id = 8;
                UPDATE item SET base_content = x'00' WHERE id = 10;
                UPDATE item SET base_content = NULL, base_metadata = NULL WHERE id = 3;
                UPDATE item SET remote_parent = NULL, remote_name = NULL, remote_content = NULL, remote_metadata = NULL
                    WHERE id = 4;
                UPDATE inode SET atime = x'0102', btime = mtime WHERE id = 9;
                """)
        let questions = [
            """
            SELECT id, inode, identifier, kind, hex(target), base_parent, hex(base_name), hex(base_content),
                hex(base_metadata), base_content IS NULL, local_parent, hex(local_name), local_content, local_metadata,
                remote_parent, hex(remote_name), hex(remote_content), hex(remote_metadata), remote_content IS NULL,
                remote_size, remote_mtime, remote_btime, remote_mode, hex(remote_xattr), remote_capabilities, ready_at,
                error_code, error, attempts, retry_at, hex(sent_hash), sent_size, hex(sent_before), pinned, excluded,
                held_at, attempted_parent, hex(attempted_name), pending
            FROM item ORDER BY id
            """,
            """
            SELECT id, kind, mode, uid, gid, nlink, size, quote(atime), quote(mtime), quote(ctime), quote(btime),
                hex(target), generation, base_size, quote(extents), writing, stamp_size, stamp_mtime, stamp_ctime,
                enumerated, rdev, used, split_from, here
            FROM inode ORDER BY id
            """,
            "SELECT * FROM name ORDER BY id", "SELECT name, seq FROM sqlite_sequence ORDER BY name",
        ]
        let before = try questions.map { try raw($0) }
        #expect(before[0].count > 10 && before[1].count > 10)
        try open().close()
        #expect(try questions.map { try raw($0) } == before)
        // The root, and all that was the same in the three trees.
        #expect(
            try raw("SELECT id FROM item WHERE alike & 3 = 3 ORDER BY id").map { $0[0] } == ["1", "2", "3", "6", "10"])
        let own =
            "own_base_parent, own_base_name, own_base_content, own_base_metadata, own_remote_parent, own_remote_name"
        #expect(
            try raw("SELECT count(*) FROM item WHERE alike = 7 AND COALESCE(\(own)) IS NOT NULL") == [["0"]])
        #expect(try raw("PRAGMA foreign_key_check") == [] && raw("PRAGMA integrity_check") == [["ok"]])
    }

    /// What the old rows took goes back to the disk; a copy to look into is left as it is.
    @Test func whatAMigrationFreesIsGivenBack() throws {
        let rows = (100..<3_000).map { number in
            """
            INSERT INTO inode (id, kind, mode, uid, gid, nlink, size, atime, mtime, ctime, btime)
                VALUES (\(number), 0, 420, 0, 0, 1, 0, \(number), \(number), \(number), \(number));
            INSERT INTO name (id, folder, name, inode) VALUES (\(number), 1, 'document-\(number)', \(number));
            INSERT INTO item (id, inode, identifier, kind, base_parent, base_name, local_parent, local_name, remote_parent,
                              remote_name, base_content, base_metadata, remote_content, remote_metadata)
                VALUES (\(number), \(number), 'identifier of document-\(number)', 0, 1, 'document-\(number)', 1,
                        'document-\(number)', 1, 'document-\(number)', 'version-\(number)', 'more', 'version-\(number)', 'more');
            """
        }
        try load(7, adding: "BEGIN; \(rows.joined()) COMMIT;")
        let pages = "PRAGMA page_count", free = "PRAGMA freelist_count"
        let before = try #require(try Int(raw(pages)[0][0]))
        let copy = directory + "/copy"
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        try Catalog(existing: copy).close()
        #expect(try #require(try Int(SQLite.execute(free, in: copy)[0][0])) > 100)
        for catalog in [copy, path] {
            try Catalog(path: catalog, domain: Self.domain, owner: (12, 34)).close()
            #expect(try SQLite.execute(free, in: catalog) == [["0"]])
            #expect(try #require(try Int(SQLite.execute(pages, in: catalog)[0][0])) * 4 < before * 3)
            #expect(try SQLite.execute("SELECT count(*) FROM domain WHERE key = 'freed'", in: catalog) == [["0"]])
        }
    }

    /// Such a catalog was mounted, and `hydrant doctor` says what is wrong with it.
    @Test func aNameWithoutAnInodeDoesNotHinderIt() throws {
        try load(7, adding: "INSERT INTO name (folder, name, inode) VALUES (1, x'78', 4711);")
        let catalog = try open()
        defer { catalog.close() }
        #expect(try catalog.read { try $0.examine() }.contains { $0.rule == .nameWithoutInode })
    }

    /// As many bytes as are on this machine: all of a whole document, of a placeholder the parts, and what was
    /// written past the store's bytes.
    @Test func whatIsHereIsCounted() throws {
        func insert(_ id: Int, size: Int, base: Int, _ extents: String, kind: Int = 0) -> String {
            """
            INSERT INTO inode (id, kind, mode, uid, gid, nlink, size, atime, mtime, ctime, btime, base_size, extents)
            VALUES (\(id), \(kind), 420, 0, 0, 1, \(size), 0, 0, 0, 0, \(base), \(extents));
            """
        }
        let parts = RangeSet<Int64>([10..<20, 50..<57]).blob.map {
            let digits = String($0, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
        try load(
            adding: insert(20, size: 100, base: 100, "x''") + insert(21, size: 100, base: 100, "x'\(parts)'")
                + insert(22, size: 130, base: 100, "x'\(parts)'") + insert(23, size: 80, base: 100, "NULL")
                + insert(24, size: 9, base: 0, "NULL", kind: 2) + insert(25, size: 0, base: 0, "NULL"))
        try open().close()
        let here = try raw("SELECT id, here FROM inode").reduce(into: [Int: Int]()) { $0[Int($1[0])!] = Int($1[1]) }
        #expect(
            here == [1: 0, 2: 0, 3: 0, 5: 11, 6: 4, 7: 0, 20: 0, 21: 17, 22: 47, 23: 80, 24: 0, 25: 0])
    }

    @Test func numbersGoOnAboveTheOldOnes() throws {
        try load()
        let catalog = try open()
        defer { catalog.close() }
        #expect(try catalog.read { try $0.highestInode() }.rawValue == 7)
        let made = try catalog.write {
            try $0.create(NewFile(kind: .folder, mode: 0o755, uid: 0, gid: 0), in: .root, named: "new", settle: 0)
        }
        #expect(made.id.rawValue == 8)
        #expect(try catalog.read { try $0.item(of: made.id) }?.id.rawValue == 8)
        // (What programs make stands before all others.)
        let listed = try catalog.read { try $0.children(of: .root, after: 0, limit: 100) }
        #expect(listed.first?.name == "new" && listed.count > 1)
        #expect(listed.map(\.cookie) == listed.map(\.cookie).sorted() && listed.allSatisfy { $0.cookie > 0 })
    }

    /// No version before kept attributes: what the store has of them is asked for again, once.
    @Test func theNextListingBringsTheAttributes() throws {
        try load()
        let catalog = try open()
        defer { catalog.close() }
        let confirmed = try catalog.read { reader in
            try (2...5).map { try #require(try reader.item(ItemID(rawValue: $0))) }
        }
        for item in confirmed {
            #expect(item.remoteVersion?.metadata.bytes == [] && item.remoteFacts.extendedAttributes == nil)
        }
        // Of what was never at the store nothing is asked, and the root's listing is whole.
        #expect(try catalog.read { try $0.item(ItemID(rawValue: 6)) }?.remoteVersion == nil)

        let letters = confirmed[0]
        let listed = Item(
            identifier: try #require(letters.identifier), parentIdentifier: .rootContainer, filename: "letters",
            kind: .folder, contentModificationDate: letters.remoteFacts.modified, posixPermissions: 0o755,
            version: try #require(letters.baseVersion), extendedAttributes: ["user.colour": [1]])
        func difference() throws -> [ItemIdentifier] {
            try catalog.read { try $0.difference(of: .root, [listed], ignoring: []) }.changed.map(\.identifier)
        }
        #expect(try difference() == [listed.identifier])
        _ = try catalog.write {
            try $0.mergeListing(of: .root, [listed], defaults: PlaceholderDefaults(uid: 0, gid: 0))
        }
        #expect(try catalog.read { try $0.userAttributes(of: InodeID(rawValue: 2)) } == ["user.colour": [1]])
        #expect(try difference() == [])
    }

    @Test func aSecondOpenChangesNothing() throws {
        try load()
        try open().close()
        let once = try #require(FileManager.default.contents(atPath: path))
        try open().close()
        #expect(FileManager.default.contents(atPath: path) == once)
        #expect(try raw("SELECT identifier FROM grdb_migrations ORDER BY rowid").map { $0[0] } == migrations())
    }

    // MARK: Refused

    /// Nothing of it is changed: the newer version goes on with it.
    @Test func aNewerVersionsCatalogIsLeftAsItWas() throws {
        try load(adding: "INSERT INTO grdb_migrations VALUES ('3 of another time');")
        let before = try #require(FileManager.default.contents(atPath: path))
        let refused = refusal()
        #expect(refused?.code == .newerVersion)
        #expect(refused?.message == "\(path): made by a newer Hydrant; use that version, or another --state-dir")
        #expect(FileManager.default.contents(atPath: path) == before)
        #expect(try raw("SELECT count(*) FROM pragma_table_info('inode')") == [["20"]])
    }

    @Test func anotherDomainsOldCatalogIsRefused() throws {
        try load(adding: "UPDATE domain SET value = 'dir:/elsewhere';")
        #expect(refusal()?.code == .wrongDomain)
    }

    /// Looked at before anything is changed: half a migration would be worse than none.
    @Test func aDamagedCatalogIsLeftAsItWas() throws {
        try load()
        let whole = try #require(FileManager.default.contents(atPath: path))
        let pageSize = 4_096
        var trials = (1..<whole.count / pageSize).map {
            (at: $0 * pageSize, bytes: Data(repeating: 0x5a, count: pageSize))
        }
        trials.append((at: 0, bytes: Data("SQLite format 4\0".utf8)))
        try #require(trials.count > 4)
        var refusals = 0
        for (number, trial) in trials.enumerated() {
            var damaged = whole
            damaged.replaceSubrange(trial.at..<trial.at + trial.bytes.count, with: trial.bytes)
            let path = directory + "/damaged-\(number)"
            try damaged.write(to: URL(filePath: path, directoryHint: .notDirectory))
            // (A page that nothing is on may be anything.)
            guard let refused = refusal(path) else { continue }
            refusals += 1
            #expect(refused.code == .damaged, "at \(trial.at)")
            #expect(refused.message.hasPrefix("\(path): the catalog is damaged"))
            #expect(FileManager.default.contents(atPath: path) == damaged, "at \(trial.at)")
        }
        #expect(refusals >= trials.count - 2)
        let headless = directory + "/damaged-\(trials.count - 1)"
        #expect(refusal(headless)?.code == .damaged)
        #expect(refusal() == nil)
    }
}
