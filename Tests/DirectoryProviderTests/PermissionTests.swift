import FileProvider
import Glibc
import Testing

@testable import DirectoryProvider

/// What a mode may say in the store, and what of the store's modes and access lists is shown.
@Suite struct PermissionTests {
    private static let mine = SetID(bits: 0o6000, owner: geteuid(), group: getegid())
    /// Whoever owns the file, it is neither of these.
    private static let others = [
        SetID(bits: 0o6000, owner: geteuid() + 1, group: getegid()),
        SetID(bits: 0o6000, owner: geteuid(), group: getegid() + 1),
    ]

    private func mode(_ store: TestStore, _ name: String) throws -> UInt16 {
        var status = stat()
        try #require(lstat(store.path(name), &status) == 0)
        return UInt16(status.st_mode & 0o7777)
    }

    /// Makes an item, replaces it and sets its mode.
    private func send(
        _ kind: ItemKind, _ permissions: UInt16, _ setID: SetID?, _ store: TestStore
    ) async throws -> [(item: UInt16?, file: UInt16)] {
        var seen: [(item: UInt16?, file: UInt16)] = []
        var item = try await store.provider.createItem(
            ItemTemplate(
                parentIdentifier: .rootContainer, filename: "a", kind: kind,
                contentModificationDate: FileTime(seconds: 1), posixPermissions: permissions, setID: setID),
            contents: kind.isDocument ? TextSource("one") : nil)
        seen.append((item.posixPermissions, try mode(store, "a")))
        for second in 2...3 as ClosedRange<Int64> {
            let metadata = ItemMetadata(
                contentModificationDate: FileTime(seconds: second), posixPermissions: permissions, setID: setID)
            item = try await store.provider.updateMetadata(item.identifier, to: metadata, baseVersion: item.version)
            seen.append((item.posixPermissions, try mode(store, "a")))
            guard kind.isDocument else { continue }
            item = try await store.provider.itemChanged(
                item.identifier, contents: TextSource("two"), metadata: metadata, baseVersion: item.version)
            seen.append((item.posixPermissions, try mode(store, "a")))
        }
        return seen
    }

    @Test("Setuid and setgid are not set on a file of another owner or group", arguments: [ItemKind.document, .folder])
    func ofOthers(_ kind: ItemKind) async throws {
        for setID in [nil] + Self.others {
            for seen in try await send(kind, 0o7755, setID, TestStore()) {
                #expect(seen.file == 0o1755 && seen.item == 0o1755, "\(String(describing: setID))")
            }
        }
    }

    @Test(
        "Setuid and setgid are set on a file of exactly this owner and group", arguments: [ItemKind.document, .folder])
    func ofTheOwner(_ kind: ItemKind) async throws {
        for seen in try await send(kind, 0o755, Self.mine, TestStore()) {
            #expect(seen.file == 0o6755 && seen.item == 0o755)
        }
    }

    @Test("Setuid and setgid of the store are not shown; a folder keeps them, and new contents clear them")
    func ofTheStore() async throws {
        let store = try TestStore()
        try store.write("x", to: "tool")
        store.makeFolder("group")
        #expect(store.shell("chmod 6755 tool && chmod 2755 group") == 0)
        let (tool, group) = (try await store.item("tool"), try await store.item("group"))
        #expect(tool.posixPermissions == 0o755 && group.posixPermissions == 0o755)
        for mode: UInt16 in [0o755, 0o700] {
            let set = try await store.provider.updateMetadata(
                group.identifier,
                to: ItemMetadata(contentModificationDate: FileTime(seconds: 5), posixPermissions: mode),
                baseVersion: group.version)
            #expect(set.posixPermissions == mode)
            #expect(try self.mode(store, "group") == 0o2000 | mode)
        }
        // A folder that is made in it has it from there.
        let made = try await store.provider.createItem(
            ItemTemplate(
                parentIdentifier: group.identifier, filename: "inner", kind: .folder,
                contentModificationDate: FileTime(seconds: 1), posixPermissions: 0o750), contents: nil)
        #expect(made.posixPermissions == 0o750)
        #expect(try mode(store, "group/inner") == 0o2750)
        let changed = try await store.change(tool, to: "other bytes")
        #expect(changed.posixPermissions == 0o755)
        #expect(try mode(store, "tool") == 0o755)
    }

    // MARK: Access lists

    @Test(
        "The mode shows no permission that the access list does not give",
        arguments: [
            ("u::rw,u:65534:rw,g::r,m::rw,o::r", 0o644), ("u::rw,u:65534:rw,g::-,m::rw,o::-", 0o600),
            ("u::rw,u:65534:-,g::rw,m::rw,o::r", 0o600), ("u::rw,g::rw,g:65534:r,m::rw,o::-", 0o640),
            ("u::rw,u:65534:rw,g::r,m::-,o::r", 0o600), ("u::rwx,g::rx,m::r,o::-", 0o740),
        ] as [(String, UInt16)])
    func shown(_ list: String, _ expected: UInt16) async throws {
        let store = try TestStore()
        try store.write("x", to: "a")
        // Where the file system has none there is nothing to test.
        guard store.setList(list, of: "a") else { return }
        #expect(try await store.item("a").posixPermissions == expected)
        // And where it keeps no attributes of users.
        let other = try store.again(seams: .with { $0.attributesUnsupported = true })
        #expect(try await store.item("a", of: other).posixPermissions == expected)
    }

    @Test("A change of the mode changes the effective rights of an access list; a change of the date does not")
    func changed() async throws {
        let store = try TestStore()
        try store.write("x", to: "a")
        guard store.setList("u::rw,u:65534:rw,g::-,m::rw,o::-", of: "a") else { return }
        func list() -> Bool { store.rights(2, 65534, of: "a") == 6 && store.rights(16, .max, of: "a") == 6 }
        var item = try await store.item("a")
        for mode: UInt16? in [0o600, nil, 0o700] {
            item = try await store.provider.updateMetadata(
                item.identifier,
                to: ItemMetadata(contentModificationDate: FileTime(seconds: 5), posixPermissions: mode),
                baseVersion: item.version)
            #expect(list() && item.posixPermissions == mode ?? 0o600)
        }
        for mode: UInt16? in [0o700, nil, 0o600] {
            item = try await store.provider.itemChanged(
                item.identifier, contents: TextSource("y"),
                metadata: ItemMetadata(contentModificationDate: FileTime(seconds: 6), posixPermissions: mode),
                baseVersion: item.version)
            #expect(list() && item.posixPermissions == mode ?? 0o700)
        }
        // A change of the list alone is seen.
        let before = item.version
        #expect(store.setList("u::rw,u:65534:rw,u:65535:r,g::-,m::rw,o::-", of: "a"))
        item = try await store.item("a")
        #expect(item.version.metadata != before.metadata && item.version.content == before.content)
    }

    @Test("A replaced document does not inherit the default access list of its folder")
    func inherited() async throws {
        let store = try TestStore()
        store.makeFolder("folder")
        try store.write("x", to: "folder/a")
        #expect(store.shell("chmod 640 folder/a") == 0)
        guard store.setList("u::rwx,u:65534:rw,g::rx,m::rwx,o::rx", of: "folder", isDefault: true) else { return }
        let folder = try await store.item("folder")
        let item = try await store.item("a", in: folder.identifier)
        #expect(item.posixPermissions == 0o640)
        let changed = try await store.change(item, to: "secret")
        #expect(changed.posixPermissions == 0o640)
        #expect(store.rights(2, 65534, of: "folder/a") == nil)
    }

    @Test("An unreadable access list gives group and others nothing")
    func damaged() {
        for bytes: [UInt8] in [[], [2, 0, 0], [3, 0, 0, 0], [2, 0, 0, 0, 1], [2, 0, 0, 0, 3, 0, 7, 0, 0, 0, 0, 0]] {
            #expect(AccessList(bytes: bytes).narrowed(0o1777) == 0o1700)
        }
    }

    @Test("With another group, the group gets only the rights that everybody has")
    func ofAnotherGroup() {
        // u::rw, g::rw, mask rw, o::r
        let list = AccessList(
            bytes: [2, 0, 0, 0]
                + [(1, 6), (4, 6), (16, 6), (32, 4)].flatMap {
                    [$0.0, 0, $0.1, 0, 255, 255, 255, 255] as [UInt8]
                })
        #expect(list.narrowed(0o664) == 0o664)
        #expect(list.ownedByAnotherGroup(0o664).narrowed(0o664) == 0o644)
    }
}
