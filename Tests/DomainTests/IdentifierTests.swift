import DirectoryProvider
import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import Logging
import MountHarness
import Surroundings
import SyncEngine
import Synchronization
import Testing
import Trees

@testable import Daemon

@Suite("Persistent identifiers") struct IdentifierTests {
    @Test("identifiers of the catalog survive renames, saves, eviction and a remount") func survive() async throws {
        let provider = SilentProvider()
        try provider.base.put("doc.txt", "first")
        try provider.base.mkdir("folder")
        try await withServing { sandbox in
            // (Nothing is sent in the middle of a save, however long the shell takes.)
            let first = try ServedDomain(provider, sandbox, settle: 60)
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

    @Test("items have identifiers before the store has them, and items of this machine only have them too")
    func unconfirmed() async throws {
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

    @Test("identifiers of another catalog do not resolve here") func ofAnotherCatalog() async throws {
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

    @Test("identifiers of a lost catalog lead to the items' last places, and stay with these items") func lost()
        async throws
    {
        let provider = SilentProvider()
        for name in ["doc", "gone", "sub/in", "kept", "was-document"] { try provider.base.put(name, name) }
        try await withServing { sandbox in
            let first = try ServedDomain(provider, sandbox)
            try first.run("ls -R")
            func name(_ path: String) throws -> ItemIdentifier { try first.catalogIdentifier(path) }
            let (doc, gone, folder) = (try name("doc"), try name("gone"), try name("sub"))
            let (inside, kind) = (try name("sub/in"), try name("was-document"))
            try first.run("mv doc sub/renamed; mv sub moved; rm gone")
            try first.sync()
            first.end()
            // Others make something where a document was that is gone, and a folder where there was a document.
            try provider.base.put("gone", "another one")
            try provider.base.put("doc", "another one")
            try provider.base.remove("was-document")
            try provider.base.put("was-document/in", "x")
            try ServedDomain.loseCatalog(sandbox)

            let second = try ServedDomain(provider, sandbox)
            #expect(try second.path(doc) == "moved/renamed")
            #expect(try second.path(folder) == "moved")
            #expect(try second.path(inside) == "moved/in")
            #expect(refusal { _ = try second.path(gone) } == .noSuchItem)
            #expect(refusal { _ = try second.path(kind) } == .noSuchItem)
            // It is known again: nothing is looked for by its place any more.
            try second.run("mv moved/renamed last; echo other > moved/renamed")
            #expect(try second.path(doc) == "last")
            try second.sync()
            second.end()
            try ServedDomain.loseCatalog(sandbox)

            let third = try ServedDomain(provider, sandbox)
            defer { third.end() }
            #expect(try third.path(doc) == "last")
            #expect(try third.path(inside) == "moved/in")
        }
    }

    @Test(
        "a provider that resolves only its store's identifiers: items not uploaded yet have bookmarks and can be moved")
    func ofTheStoreAlone() async throws {
        try await withServed(StoreNamingProvider(), settle: 60) { served in
            try served.run("mkdir d; echo text > d/new")
            func resolved(_ bookmark: String) throws -> String {
                try served.hydrant("bookmark", "resolve", bookmark).stdout
            }
            let made = try served.hydrant("bookmark", "make", served.sandbox.mountPoint + "/d/new")
            #expect(made.succeeded, "\(made)")
            let bookmark = made.stdout.trimmingCharacters(in: .newlines)
            #expect(try resolved(bookmark) == served.sandbox.mountPoint + "/d/new\n")
            try served.run("mv d/new moved")
            try served.sync()
            #expect(try resolved(bookmark) == served.sandbox.mountPoint + "/moved\n")
            // Of the store's identifiers the next ones are.
            let renewed = try served.hydrant("bookmark", "renew", bookmark).stdout.trimmingCharacters(in: .newlines)
            #expect(try served.hydrant("bookmark", "resolve", renewed).stderr == "")
            for mode in ["export", "move"] {
                let picked = try served.sandbox.run(
                    [
                        "bash", "-c",
                        "echo \(mode) > \"$SCRATCH/\(mode).txt\"; printf '%s\\n' '{\"do\": \"putHere\"}' | "
                            + "\"$HYDRANT\" pick --mode \(mode) --json \"$SCRATCH/\(mode).txt\" | tail -n 1",
                    ], environment: ["HYDRANT": Sandbox.executable, "SCRATCH": served.sandbox.scratch], limit: 20)
                #expect(picked.stdout.contains("\"inStore\":true"), "\(mode): \(picked)")
                #expect(try served.run("cat \(mode).txt") == mode)
            }
        }
    }

    @Test("the provider's own identifiers lead to the place") func ofTheProvider() async throws {
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

    @Test("identifiers of a directory work with every catalog") func ofADirectory() async throws {
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

/// Answers as if only what is in its store needed a name.
final class StoreNamingProvider: ForwardingProvider {
    let base = InMemoryProvider()

    func persistentIdentifierForItem(
        at url: URL, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> ItemIdentifier { try await domain.itemIdentifier(at: url) }

    func urlForItem(
        withPersistentIdentifier identifier: ItemIdentifier, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> URL { try await domain.url(of: identifier) }
}

/// Shares a folder with its picker.
final class GroupedProvider: ForwardingProvider {
    let base = InMemoryProvider()
    let documentGroup: String?

    init(_ group: String?) { documentGroup = group }
}

@Suite("The folder of a document group") struct DocumentGroupTests {
    @Test("the folder exists for the provider and its picker; an invalid group name makes no folder") func folder()
        async throws
    {
        let name = "org.example.\(UUID().uuidString)"
        let path = try #require(BaseDirectory.group(name))
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await withServed(GroupedProvider(name)) { served in
            let url = try #require(served.domain.documentGroupURL)
            #expect(url.path == path)
            #expect(FileManager.default.fileExists(atPath: path))
        }
        for bad in ["", "..", ".x", "a/b", String(repeating: "x", count: 256)] {
            #expect(BaseDirectory.group(bad) == nil)
        }
        for group in [nil, "../x"] {
            try await withServed(GroupedProvider(group)) { served in #expect(served.domain.documentGroupURL == nil) }
        }
    }
}
