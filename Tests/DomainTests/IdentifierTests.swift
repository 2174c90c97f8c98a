import Daemon
import DirectoryProvider
import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import Logging
import MountHarness
import SyncEngine
import Synchronization
import Testing

@Suite("Persistent identifiers") struct IdentifierTests {
    @Test("of the catalog survive renames, saves, eviction and a remount") func survive() async throws {
        let provider = SilentProvider()
        try provider.base.put("doc.txt", "first")
        try provider.base.mkdir("folder")
        try await withServing { sandbox in
            let first = try ServedDomain(provider, sandbox)
            try first.run("ls")
            let identifier = try first.catalogIdentifier("doc.txt")
            #expect(try first.path(identifier) == "doc.txt")
            // As editors save, and sed -i.
            try first.run("echo more >>doc.txt; sed -i s/first/second/ doc.txt; cp doc.txt t; mv t doc.txt")
            try first.run("mv doc.txt doc.bak; echo third >doc.txt; rm doc.bak")
            #expect(try first.catalogIdentifier("doc.txt") == identifier)
            try first.run("mv doc.txt folder/renamed")
            #expect(try first.path(identifier) == "folder/renamed")
            try first.sync()
            let inode = try first.catalog.read { try $0.resolve(["folder", "renamed"]) }
            #expect(try first.engine.evict(inode.id) > 0)
            #expect(try first.catalogIdentifier("folder/renamed") == identifier)
            first.end()

            let second = try ServedDomain(provider, sandbox)
            defer { second.end() }
            #expect(try second.path(identifier) == "folder/renamed")
            try second.run("cat folder/renamed; rm folder/renamed")
            #expect(refusal { _ = try second.path(identifier) } == .noSuchItem)
            // Something else of that name is something else.
            try second.sync()
            try second.run("echo other >folder/renamed")
            #expect(try second.catalogIdentifier("folder/renamed") != identifier)
            #expect(refusal { _ = try second.path(identifier) } == .noSuchItem)
        }
    }

    @Test("are there before the store has the item, and for what stays here") func unconfirmed() async throws {
        let provider = SilentProvider()
        try await withServed(provider) { served in
            try served.run("mkdir d; exec 3>d/open; echo x >&3; echo b >'d/backup~'; ln -s d link; mkfifo pipe")
            let open = try served.catalogIdentifier("d/open")
            let kept = try served.catalogIdentifier("d/backup~")
            let link = try served.catalogIdentifier("link")
            #expect(Set([open, kept, link, try served.catalogIdentifier("d")]).count == 4)
            // (A link is not followed.)
            #expect(refusal { _ = try served.catalogIdentifier("link/open") } == .noSuchItem)
            #expect(refusal { _ = try served.catalogIdentifier("pipe") } == .noSuchItem)
            #expect(refusal { _ = try served.catalogIdentifier("nothing") } == .noSuchItem)
            let backup = served.url("d/backup~")
            #expect(refusal { _ = try blocking { try await served.domain.itemIdentifier(at: backup) } } == .noSuchItem)
            try served.sync()
            try served.run("mv d e")
            #expect(try served.path(open) == "e/open")
            #expect(try served.path(kept) == "e/backup~")
            #expect(try served.path(try served.catalogIdentifier("")) == "")
        }
    }

    @Test("of another catalog say nothing here") func ofAnotherCatalog() async throws {
        let provider = SilentProvider()
        try provider.base.put("a", "A")
        let elsewhere = Mutex<ItemIdentifier?>(nil)
        try await withServed(provider) { served in
            let identifier = try served.catalogIdentifier("a")
            elsewhere.withLock { $0 = identifier }
        }
        try await withServed(provider) { served in
            let foreign = elsewhere.withLock { $0! }
            let own = try served.catalogIdentifier("a")
            #expect(foreign != own)
            for text in [foreign.rawValue, own.rawValue + "0", own.rawValue + "x", "hydrant--2", "", "p:a"] {
                #expect(refusal { _ = try served.path(ItemIdentifier(text)) } == .noSuchItem)
            }
        }
    }

    @Test("that the provider gave lead to the place") func ofTheProvider() async throws {
        let provider = SilentProvider()
        let item = try provider.base.put("folder/doc", "D")
        try await withServed(provider) { served in
            let url = served.url("folder/doc")
            // Folders on the way are listed.
            #expect(try blocking { try await served.domain.itemIdentifier(at: url) } == item.identifier)
            #expect(try blocking { try await served.domain.url(of: item.identifier) } == url)
            try served.run("mv folder/doc moved")
            #expect(try blocking { try await served.domain.url(of: item.identifier) } == served.url("moved"))
            #expect(served.domain.placeholderURL(for: URL(string: url.absoluteString + "/")!) == url)
            let root = try blocking { try await served.domain.url(of: .rootContainer) }
            #expect(root == served.domain.documentStorageURL)
        }
    }

    @Test("of a directory are good with every catalog") func ofADirectory() async throws {
        let found = Mutex<[String: ItemIdentifier]>([:])
        let folder = NSTemporaryDirectory() + "identifiers-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder + "/sub", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data("D".utf8).write(to: URL(filePath: folder + "/sub/doc", directoryHint: .notDirectory))
        @Sendable func provider() throws -> DirectoryProvider {
            try DirectoryProvider(root: folder, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        }
        try await withServing { sandbox in
            let provider = try provider()
            let served = try ServedDomain(provider, sandbox)
            defer { served.end() }
            let (doc, new) = (served.url("sub/doc"), served.url("new~"))
            try served.run("ls; echo x >new~")
            let identifiers = try blocking {
                (
                    try await provider.persistentIdentifierForItem(at: doc, in: served.domain),
                    try await provider.persistentIdentifierForItem(at: new, in: served.domain)
                )
            }
            found.withLock { $0 = ["doc": identifiers.0, "new": identifiers.1] }
            // What is not in the directory has the catalog's.
            let url = try blocking {
                try await provider.urlForItem(withPersistentIdentifier: identifiers.1, in: served.domain)
            }
            #expect(url == new)
            try served.run("mv sub/doc sub/moved")
            try served.sync()
        }
        try await withServing { sandbox in
            let provider = try provider()
            let served = try ServedDomain(provider, sandbox)
            defer { served.end() }
            let (doc, new) = found.withLock { ($0["doc"]!, $0["new"]!) }
            // Nobody has looked at anything yet.
            let url = try blocking { try await provider.urlForItem(withPersistentIdentifier: doc, in: served.domain) }
            #expect(url == served.url("sub/moved"))
            #expect(
                refusal {
                    _ = try blocking { try await provider.urlForItem(withPersistentIdentifier: new, in: served.domain) }
                } == .noSuchItem)
        }
    }
}
