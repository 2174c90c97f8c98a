import FileProvider
import Glibc
import Synchronization
import Testing

@testable import DirectoryProvider

/// What somebody puts in the place of a file between its making, or a look at it, and the change of its mode or date.
@Suite struct ExchangedFolderTests {
    private func status(_ store: TestStore, _ name: String) throws -> stat {
        var status = stat()
        try #require(lstat(store.path(name), &status) == 0)
        return status
    }

    private func template(_ name: Filename, _ kind: ItemKind, permissions: UInt16? = nil) -> ItemTemplate {
        ItemTemplate(
            parentIdentifier: .rootContainer, filename: name, kind: kind,
            contentModificationDate: FileTime(seconds: 1_234, nanoseconds: 5), posixPermissions: permissions,
            extendedAttributes: kind.isFolder ? ["user.a": [1]] : nil)
    }

    /// Another user of the folder.
    private final class Swaps: Sendable {
        let folder = Mutex<Folder?>(nil)
        let count = Mutex(0)

        func exchange(_ name: [UInt8], _ other: [UInt8]) {
            guard let folder = folder.withLock({ $0 }) else { return }
            // RENAME_EXCHANGE.
            let isDone = (try? folder.rename(name, to: folder, as: other, flags: 2)) != nil
            if isDone { count.withLock { $0 += 1 } }
        }
    }

    /// Root's private folder, which the one who may write to the folder around it cannot open.
    @Test("A folder that replaces a newly made one keeps its mode", arguments: [true, false])
    func aNewFolder(isEmpty: Bool) async throws {
        let swaps = Swaps()
        let store = try TestStore(
            seams: .with {
                $0.afterMakingFolder = { name in
                    swaps.exchange(name, Array("private".utf8))
                }
            })
        swaps.folder.withLock { $0 = store.provider.store.root }
        store.shell("mkdir -m 700 private && touch -d @77 private")
        if !isEmpty { store.shell("echo secret > private/.hydrant-n0123456789abcdee.txt && touch -d @77 private") }
        let inode = try status(store, "private").st_ino
        let answer = await failure {
            try await store.provider.createItem(template("new", .folder, permissions: 0o777), contents: nil)
        }
        #expect(swaps.count.withLock { $0 } == 1)
        #expect(answer?.code == (isEmpty ? nil : .busy))
        if isEmpty { #expect(try status(store, "new").st_ino != inode) }
        // It has another name now, or is where it was put; wherever it is, it is as it was.
        for name in store.names {
            let now = try status(store, name)
            guard now.st_ino == inode else { continue }
            #expect(now.st_mode & 0o7777 == 0o700)
            #expect(try AttributedFile(Array(name.utf8), in: store.provider.store.root).names().isEmpty)
        }
    }

    /// Complete, whatever its mode, and nothing of ours beside it.
    @Test(
        "A new folder or link has the requested mode, date and attributes",
        arguments: [0o777, 0o500, 0o000, 0o1755] as [UInt16])
    func complete(permissions: UInt16) async throws {
        let store = try TestStore()
        let folder = try await store.provider.createItem(
            template("folder", .folder, permissions: permissions), contents: nil)
        #expect(folder.posixPermissions == permissions && folder.extendedAttributes == ["user.a": [1]])
        #expect(folder.contentModificationDate == FileTime(seconds: 1_234, nanoseconds: 5))
        let link = try await store.provider.createItem(template("link", .symbolicLink(target: [97])), contents: nil)
        #expect(link.contentModificationDate == FileTime(seconds: 1_234, nanoseconds: 5))
        #expect(store.names == ["folder", "link"])
        for kind in [ItemKind.folder, .symbolicLink(target: [98])] {
            let answer = await failure { try await store.provider.createItem(template("link", kind), contents: nil) }
            #expect(answer?.code == .filenameCollision && answer?.item == link)
        }
        #expect(store.names == ["folder", "link"])
    }

    @Test("A new folder has the requested mode where the file system cannot rename without replacing")
    func withoutRenameFlags() async throws {
        let store = try TestStore(seams: .with { $0.renameFlagsUnsupported = true })
        let folder = try await store.provider.createItem(template("folder", .folder, permissions: 0o555), contents: nil)
        #expect(folder.posixPermissions == 0o555)
        let link = try await store.provider.createItem(template("link", .symbolicLink(target: [97])), contents: nil)
        #expect(link.kind == .symbolicLink(target: [97]))
        #expect(store.names == ["folder", "link"])
    }

    @Test("The remains of a new folder after a crash are hidden, and are removed")
    func leftovers() async throws {
        let store = try TestStore()
        _ = try await store.items()
        let (forgotten, foreign) = (".hydrant-n0123456789abcde0.tmp", ".hydrant-n0123456789abcde1.tmp")
        store.shell(
            """
            mkdir -p made/.hydrant-n00000000000000aa.tmp foreign/mine full
            ln -s x made/.hydrant-n00000000000000ab.tmp
            mkdir full/.hydrant-n0123456789abcde2.tmp; mkdir full/.hydrant-n0123456789abcde2.tmp/.hydrant-n00000000000000aa.tmp
            """)
        let full = try await store.item("full")
        store.shell("mv made \(forgotten); mv foreign \(foreign)")
        #expect(try await store.items().map(\.filename) == ["full"])
        // What somebody else has put there is not ours to remove.
        #expect(store.names == [foreign, "full"])
        try await store.provider.deleteItem(full.identifier, baseVersion: full.version)
        #expect(store.names == [foreign])
    }

    @Test("A link that replaces another link keeps its date")
    func aLinksDate() async throws {
        let holder = Holder()
        let store = try TestStore(seams: .with { $0.beforeOpening = { holder.act() } })
        store.shell("ln -s x link; ln -s y other; touch -h -d @77 other")
        let item = try await store.item("link")
        holder.action = { [unowned store] in store.shell("mv other link") }
        let code = await code {
            try await store.provider.updateMetadata(
                item.identifier, to: ItemMetadata(contentModificationDate: FileTime(seconds: 1_234)),
                baseVersion: item.version)
        }
        #expect(code == .versionMismatch)
        #expect(try status(store, "link").st_mtim.tv_sec == 77)
    }

    /// Where inodes mean nothing, and size and date are the same.
    @Test("A document with another mode keeps the mode")
    func withoutInodes() async throws {
        let holder = Holder()
        let store = try TestStore(
            seams: .with {
                $0.pathIdentifiersOnly = true
                $0.beforeOpening = { holder.act() }
            })
        store.shell("echo 1 > a; echo 2 > private; chmod 600 private; touch -d @77 a private")
        let item = try await store.item("a")
        holder.action = { [unowned store] in store.shell("mv private a") }
        let code = await code {
            try await store.provider.updateMetadata(
                item.identifier,
                to: ItemMetadata(contentModificationDate: FileTime(seconds: 78), posixPermissions: 0o666),
                baseVersion: item.version)
        }
        #expect(code == .versionMismatch)
        #expect(try status(store, "a").st_mode & 0o777 == 0o600)
    }
}
