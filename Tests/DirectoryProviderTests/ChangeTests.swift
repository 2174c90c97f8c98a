import FileProvider
import Glibc
import Testing

@testable import DirectoryProvider

/// New, moved and deleted items, and their metadata.
@Suite struct ChangeTests {
    private func template(
        _ name: Filename, _ kind: ItemKind, in parent: ItemIdentifier = .rootContainer
    ) -> ItemTemplate {
        ItemTemplate(
            parentIdentifier: parent, filename: name, kind: kind,
            contentModificationDate: FileTime(seconds: 1_234_567_890, nanoseconds: 5), posixPermissions: 0o750
        )
    }

    @Test func foldersAndLinks() async throws {
        let store = try TestStore()
        let folder = try await store.provider.createItem(template("f", .folder), contents: nil)
        #expect(folder.kind == .folder && folder.posixPermissions == 0o750)
        #expect(folder.contentModificationDate == FileTime(seconds: 1_234_567_890, nanoseconds: 5))
        let link = ItemKind.symbolicLink(target: [0xFF, 0x2F, 0x61])
        let made = try await store.provider.createItem(
            template("l", link, in: folder.identifier), contents: nil)
        #expect(made.kind == link)
        #expect(made.contentModificationDate == FileTime(seconds: 1_234_567_890, nanoseconds: 5))
        #expect(try await store.items(in: folder.identifier) == [made])
    }

    @Test(arguments: [ItemKind.document, .folder, .symbolicLink(target: [0x61])])
    func aTakenNameIsRefused(_ kind: ItemKind) async throws {
        let store = try TestStore()
        let there = try await store.create("a", "mine")
        let contents = kind.isDocument ? TextSource("x") : nil
        let error = await failure {
            try await store.provider.createItem(template("a", kind), contents: contents)
        }
        #expect(error?.code == .filenameCollision)
        #expect(error?.item == there)
        #expect(store.read("a") == "mine")
        #expect(store.names == ["a"])
    }

    @Test func aNameTakenDuringTheUpload() async throws {
        let holder = Holder()
        let store = try TestStore(seams: .with { $0.beforeCommit = { holder.act() } })
        holder.action = { [unowned store] in try! store.write("theirs", to: "a") }
        let error = await failure { try await store.create("a", "mine") }
        #expect(error?.code == .filenameCollision)
        #expect(error?.item?.size == 6)
        #expect(store.read("a") == "theirs")
        #expect(store.names == ["a"])
    }

    @Test func wrongPlacesAndNames() async throws {
        let store = try TestStore()
        for name: Filename in ["", ".", "..", "a/b", "a\0b", Filename(String(repeating: "x", count: 256))] {
            #expect(await code { try await store.create(name, "x") } == .invalidName)
        }
        let folder = try await store.provider.createItem(template("f", .folder), contents: nil)
        try await store.provider.deleteItem(folder.identifier, baseVersion: folder.version)
        #expect(await code { try await store.create("a", "x", in: folder.identifier) } == .noSuchItem)
        let holder = try await store.provider.createItem(template("g", .folder), contents: nil)
        let source = TextSource("x") { store.shell("rm -r g") }
        #expect(
            await code {
                try await store.provider.createItem(
                    template("a", .document, in: holder.identifier), contents: source)
            } == .noSuchItem)
        #expect(store.names == [])
    }

    @Test func moves() async throws {
        let store = try TestStore()
        let folder = try await store.provider.createItem(template("f", .folder), contents: nil)
        let inner = try await store.provider.createItem(
            template("inner", .folder, in: folder.identifier), contents: nil)
        let item = try await store.create("a", "1", in: inner.identifier)
        let moved = try await store.provider.moveItem(
            inner.identifier, to: .rootContainer, as: "outer", baseVersion: inner.version)
        #expect(moved.identifier == inner.identifier)
        let child = try await store.provider.providePlaceholder(for: item.identifier)
        #expect(child.parentIdentifier == inner.identifier)
        // Never over another item, never into itself, never from where others have moved it.
        let other = try await store.create("taken", "2")
        let collision = await failure {
            try await store.provider.moveItem(
                item.identifier, to: .rootContainer, as: "taken", baseVersion: child.version)
        }
        #expect(collision?.code == .filenameCollision)
        #expect(collision?.item == other)
        #expect(
            await code {
                try await store.provider.moveItem(
                    inner.identifier, to: inner.identifier, as: "x", baseVersion: moved.version)
            } == .unsupported)
        #expect(store.shell("mv outer/a outer/b") == 0)
        let stale = await failure {
            try await store.provider.moveItem(
                item.identifier, to: .rootContainer, as: "c", baseVersion: child.version)
        }
        #expect(stale?.code == .versionMismatch)
        #expect(stale?.item?.filename == "b")
    }

    @Test func deletes() async throws {
        let store = try TestStore()
        let item = try await store.create("a", "one")
        store.overwriteInPlace("a", with: "TWO")
        let error = await failure {
            try await store.provider.deleteItem(item.identifier, baseVersion: item.version)
        }
        #expect(error?.code == .versionMismatch)
        let now = try await store.item("a")
        #expect(error?.item == now)
        try await store.provider.deleteItem(now.identifier, baseVersion: now.version)
        #expect(store.names == [])
        #expect(
            await code { try await store.provider.deleteItem(now.identifier, baseVersion: now.version) }
                == .noSuchItem)
        symlink("/etc", store.path("link"))
        let link = try await store.item("link")
        try await store.provider.deleteItem(link.identifier, baseVersion: link.version)
        #expect(store.names == [])
    }

    @Test(arguments: [false, true])
    func aChangeInTheMomentOfDeletionIsKept(inPlace: Bool) async throws {
        let holder = Holder()
        let store = try TestStore(seams: .with { $0.beforeCommit = { holder.act() } })
        let item = try await store.create("a", "one")
        holder.action = { [unowned store] in
            inPlace ? store.overwriteInPlace("a", with: "TWO") : store.replace("a", with: "theirs")
        }
        #expect(
            await code { try await store.provider.deleteItem(item.identifier, baseVersion: item.version) }
                == .versionMismatch)
        #expect(store.read("a") == (inPlace ? "TWO" : "theirs"))
        #expect(store.names == ["a"])
    }

    @Test func aWriterWithTheDeletedFileOpenIsHeard() async throws {
        let holder = Holder()
        let store = try TestStore(seams: .with { $0.beforeUnlink = { holder.act() } })
        let item = try await store.create("a", "one")
        let file = open(store.path("a"), O_WRONLY)
        holder.action = { [unowned store] in
            pwrite(file, "late", 4, 0)
            try! store.write("new", to: "a")
        }
        #expect(
            await code { try await store.provider.deleteItem(item.identifier, baseVersion: item.version) }
                == .versionMismatch)
        close(file)
        #expect(store.read("a") == "new")
        #expect(store.conflictedCopies == ["late"])
    }

    @Test func foldersAreDeletedEmpty() async throws {
        let store = try TestStore()
        let folder = try await store.provider.createItem(template("f", .folder), contents: nil)
        let item = try await store.create("a", "1", in: folder.identifier)
        let delete = { try await store.provider.deleteItem(folder.identifier, baseVersion: folder.version) }
        #expect(await code(delete) == .directoryNotEmpty)
        try await store.provider.deleteItem(item.identifier, baseVersion: item.version)
        // What nobody sees is no item: a draft goes, and what a killed daemon had set aside stays, above.
        try store.write("", to: "f/.hydrant-n0123456789abcdef.tmp")
        try store.write("somebody's only copy", to: "f/.hydrant-x0123456789abcdef.tmp")
        try await delete()
        #expect(store.names.count == 1)
        #expect(store.names.first.flatMap(store.read) == "somebody's only copy")
        #expect(store.names.first?.hasPrefix(".hydrant-x") == true)
    }

    @Test func metadata() async throws {
        let store = try TestStore()
        let item = try await store.create("a", "one")
        let metadata = ItemMetadata(
            contentModificationDate: FileTime(seconds: -5, nanoseconds: 3), posixPermissions: 0o400)
        let set = try await store.provider.updateMetadata(
            item.identifier, to: metadata, baseVersion: item.version)
        #expect(set.contentModificationDate == metadata.contentModificationDate)
        #expect(set.posixPermissions == 0o400)
        #expect(try await store.item("a") == set)
        #expect(
            await code {
                try await store.provider.updateMetadata(
                    item.identifier, to: metadata, baseVersion: item.version)
            } == .versionMismatch)
        symlink("/etc/passwd", store.path("link"))
        let link = try await store.item("link")
        let linkSet = try await store.provider.updateMetadata(
            link.identifier, to: metadata, baseVersion: link.version)
        #expect(linkSet.contentModificationDate == metadata.contentModificationDate)
        #expect(linkSet.posixPermissions == 0o777)
    }

    @Test func errnoTable() {
        let expected: [(Int32, FileProviderError.Code)] = [
            (EROFS, .readOnly), (EACCES, .permissionDenied), (ENOSPC, .insufficientQuota),
            (EDQUOT, .insufficientQuota), (ENAMETOOLONG, .invalidName), (EILSEQ, .invalidName),
            (EIO, .cannotSynchronize), (ESTALE, .serverUnreachable), (ENOENT, .cannotSynchronize),
        ]
        for (number, code) in expected {
            let error = FileProviderError(SystemError(number: number, call: "x"), path: "/the/path")
            #expect(error.code == code)
            #expect(error.message.contains("/the/path"))
        }
    }

    @Test func afterInvalidationNothingHangs() async throws {
        let store = try TestStore()
        await store.provider.invalidate()
        #expect(await code { try await store.items() } == .cancelled)
    }
}
