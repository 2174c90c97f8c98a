import FileProvider
import Foundation
import Glibc
import Testing

@testable import DirectoryProvider

/// Extended attributes, between the store's files and the items.
@Suite struct AttributeTests {
    private static let some: [String: [UInt8]] = [
        "user.colour": Array("red".utf8), "user.empty": [], "user.bytes": [0, 255, 10, 0],
    ]

    private func template(
        _ name: Filename, _ kind: ItemKind, _ attributes: [String: [UInt8]]?, permissions: UInt16? = nil
    ) -> ItemTemplate {
        ItemTemplate(
            parentIdentifier: .rootContainer, filename: name, kind: kind,
            contentModificationDate: FileTime(seconds: 1_000_000_000), posixPermissions: permissions,
            extendedAttributes: attributes)
    }

    private func metadata(
        _ item: Item, _ attributes: [String: [UInt8]]?, permissions: UInt16? = nil
    ) -> ItemMetadata {
        ItemMetadata(
            contentModificationDate: item.contentModificationDate, posixPermissions: permissions,
            extendedAttributes: attributes)
    }

    /// What another program sees, with our own.
    private func names(_ store: TestStore, _ name: String) throws -> [String] {
        try AttributedFile(Array(name.utf8), in: store.provider.store.root).names()
            .filter { $0.hasPrefix("user.") }.sorted()
    }

    @Test func whatOthersSetIsTold() async throws {
        let store = try TestStore()
        store.shell("echo 1 > a; mkdir f; ln -s a l")
        for name in ["a", "f"] {
            let plain = try await store.item(name)
            #expect(plain.extendedAttributes == [:])
            #expect(store.shell("setfattr -n user.colour -v red \(name)") == 0)
            let red = try await store.item(name)
            #expect(red.extendedAttributes == ["user.colour": Array("red".utf8)])
            #expect(red.version.content == plain.version.content)
            #expect(store.shell("setfattr -n user.colour -v tan \(name)") == 0)
            let tan = try await store.item(name)
            #expect(store.shell("setfattr -x user.colour \(name)") == 0)
            let none = try await store.item(name)
            #expect(none.extendedAttributes == [:] && none.version.content == plain.version.content)
            #expect(Set([red, tan, none].map(\.version.metadata)).count == 3)
            // Where the item is does not depend on them.
            let moved = try await store.provider.moveItem(
                plain.identifier, to: .rootContainer, as: Filename(name + "2"), baseVersion: red.version)
            #expect(moved.filename == Filename(name + "2"))
        }
        #expect(try await store.item("l").extendedAttributes == nil)
        #expect(try await store.provider.providePlaceholder(for: .rootContainer).extendedAttributes == nil)
    }

    /// Longer than the first kilobyte that is asked for, the list and a value.
    @Test func longOnes() async throws {
        let store = try TestStore()
        var long: [String: [UInt8]] = ["user.value": (0..<1500).map { UInt8($0 % 251) }]
        for index in 0..<9 { long["user.\(index)" + String(repeating: "n", count: 150)] = [UInt8(index)] }
        let made = try await store.provider.createItem(template("a", .document, long), contents: TextSource("1"))
        #expect(made.extendedAttributes == long)
        #expect(try await store.item("a") == made)
    }

    @Test func ourOwnIsNeitherToldNorTouched() async throws {
        let store = try TestStore()
        let made = try await store.create("a", "one")
        var item = try await store.change(made, to: "two")
        #expect(try names(store, "a") == [Identity.attribute])
        #expect(item.extendedAttributes == [:])
        let foreign: [String: [UInt8]] = [
            Identity.attribute: [1], "security.x": [2], "trusted.x": [3], "system.x": [4], "user.": [5],
            "user.a\0b": [6], "user.b": [7],
        ]
        item = try await store.provider.updateMetadata(
            item.identifier, to: metadata(item, foreign), baseVersion: item.version)
        #expect(item.extendedAttributes == ["user.b": [7]])
        #expect(item.identifier == made.identifier)
        item = try await store.provider.itemChanged(
            item.identifier, contents: TextSource("three"), metadata: metadata(item, foreign),
            baseVersion: item.version)
        #expect(item.extendedAttributes == ["user.b": [7]])
        #expect(item.identifier == made.identifier)
        item = try await store.provider.updateMetadata(
            item.identifier, to: metadata(item, [:]), baseVersion: item.version)
        #expect(try names(store, "a") == [Identity.attribute])
        #expect(try await store.afterRestart(made.identifier) == item.withoutDigest)
    }

    /// Nil carries over what the old file has; given ones replace it. The access list goes along either way.
    @Test func replacedDocuments() async throws {
        let store = try TestStore()
        var item = try await store.create("a", "one")
        #expect(store.shell("setfattr -n user.colour -v red a") == 0)
        let hasLists = store.setList("u::rw,u:65534:r,g::r,m::r,o::r", of: "a")
        for attributes in [nil, Self.some, [:], nil] {
            let old = try await store.item("a")
            item = try await store.provider.itemChanged(
                item.identifier, contents: TextSource("two"), metadata: metadata(item, attributes),
                baseVersion: old.version)
            #expect(item.extendedAttributes == attributes ?? old.extendedAttributes)
            if hasLists { #expect(store.rights(2, 65534, of: "a") == 4) }
        }
    }

    /// The mode may take the right to write attributes away, also from their owner.
    @Test func readOnlyItems() async throws {
        let store = try TestStore()
        for kind in [ItemKind.document, .folder] {
            let name = kind.isFolder ? "folder" : "document"
            let mode: UInt16 = kind.isFolder ? 0o500 : 0o400
            var item = try await store.provider.createItem(
                template(Filename(name), kind, Self.some, permissions: mode),
                contents: kind.isFolder ? nil : TextSource("1"))
            #expect(item.extendedAttributes == Self.some && item.posixPermissions == mode)
            item = try await store.provider.updateMetadata(
                item.identifier, to: metadata(item, ["user.b": [1]]), baseVersion: item.version)
            #expect(item.extendedAttributes == ["user.b": [1]] && item.posixPermissions == mode)
            item = try await store.provider.updateMetadata(
                item.identifier, to: metadata(item, Self.some, permissions: 0o711), baseVersion: item.version)
            #expect(item.extendedAttributes == Self.some && item.posixPermissions == 0o711)
        }
    }

    /// No document is kept from the store by an attribute.
    @Test(arguments: [ENOSPC, E2BIG, EDQUOT, EOPNOTSUPP, EPERM])
    func whatFindsNoRoomIsLeftOut(_ number: Int32) async throws {
        let store = try TestStore(
            seams: .with { $0.attributeRefusal = { $0 == "user.large" ? number : nil } })
        let given: [String: [UInt8]] = ["user.large": Array(repeating: 1, count: 900), "user.small": [1]]
        var item = try await store.provider.createItem(
            template("a", .document, given), contents: TextSource("one"))
        #expect(item.extendedAttributes == ["user.small": [1]])
        #expect(store.read("a") == "one")
        let folder = try await store.provider.createItem(template("f", .folder, given), contents: nil)
        #expect(folder.extendedAttributes == ["user.small": [1]])
        item = try await store.provider.itemChanged(
            item.identifier, contents: TextSource("two"), metadata: metadata(item, given),
            baseVersion: item.version)
        #expect(item.extendedAttributes == ["user.small": [1]])
        #expect(store.read("a") == "two")
        // An old value that cannot be replaced stays.
        #expect(store.shell("setfattr -n user.large -v old a") == 0)
        item = try await store.provider.updateMetadata(
            item.identifier, to: metadata(item, ["user.large": [2], "user.other": [3]], permissions: 0o600),
            baseVersion: item.version)
        #expect(item.extendedAttributes == ["user.large": Array("old".utf8), "user.other": [3]])
        #expect(item.posixPermissions == 0o600)
    }

    /// More than any file system here has room for: the real thing.
    @Test func aValueWithoutRoom() async throws {
        let store = try TestStore()
        let given: [String: [UInt8]] = [
            "user.huge": Array(repeating: 1, count: 65_537), "user.small": Array("here".utf8),
        ]
        let item = try await store.provider.createItem(template("a", .document, given), contents: TextSource("one"))
        #expect(item.extendedAttributes == ["user.small": Array("here".utf8)])
    }

    /// They stay where they are, here.
    @Test func whereNoneAreKept() async throws {
        let store = try TestStore(seams: .with { $0.attributesUnsupported = true })
        var item = try await store.provider.createItem(
            template("a", .document, Self.some), contents: TextSource("one"))
        let folder = try await store.provider.createItem(template("f", .folder, Self.some), contents: nil)
        #expect(item.extendedAttributes == nil && folder.extendedAttributes == nil)
        item = try await store.provider.itemChanged(
            item.identifier, contents: TextSource("two"), metadata: metadata(item, Self.some),
            baseVersion: item.version)
        item = try await store.provider.updateMetadata(
            item.identifier, to: metadata(item, Self.some), baseVersion: item.version)
        #expect(item.extendedAttributes == nil)
        #expect(try names(store, "a").isEmpty)
    }

    /// A file system without them: there, a list of names is empty and no error.
    @Test func aRealFileSystemWithoutAny() async throws {
        let store = try TestStore()
        store.makeFolder("mounted")
        // Needs to be root; elsewhere there is nothing to test. (ramfs knows no attributes of users.)
        guard store.shell("mount -t ramfs none mounted 2>/dev/null") == 0 else { return }
        defer { store.shell("umount -l mounted") }
        let folder = try await store.item("mounted")
        #expect(folder.extendedAttributes == nil)
        let item = try await store.create("a", "1", in: folder.identifier)
        #expect(item.extendedAttributes == nil)
    }

    /// Names that are not text cannot be told, and are left alone.
    @Test func namesThatAreNotText() async throws {
        let store = try TestStore()
        var item = try await store.create("a", "1")
        let set = #"setfattr -n "$(printf 'user.\377')""#
        #expect(store.shell(set + " -v x a") == 0)
        item = try await store.item("a")
        #expect(item.extendedAttributes == [:])
        item = try await store.provider.updateMetadata(
            item.identifier, to: metadata(item, ["user.b": [1]]), baseVersion: item.version)
        #expect(item.extendedAttributes == ["user.b": [1]])
        #expect(store.shell(#"getfattr -n "$(printf 'user.\377')" a >/dev/null"#) == 0)
    }

    @Test func aStaleBaseSetsNothing() async throws {
        let store = try TestStore()
        let item = try await store.create("a", "one")
        store.overwriteInPlace("a", with: "TWO")
        #expect(
            await code {
                try await store.provider.updateMetadata(
                    item.identifier, to: metadata(item, Self.some), baseVersion: item.version)
            } == .versionMismatch)
        #expect(try names(store, "a").isEmpty)
    }

    /// In the order of their names as many as fit; the others stay in the store, whatever is changed from here.
    @Test func tooManyAreLeftOutAndStay() async throws {
        let store = try TestStore(seams: .with { $0.mostAttributeBytes = 40 })
        var item = try await store.create("a", "one")
        let long = String(repeating: "x", count: 60)
        let big = String(repeating: "y", count: 30)
        for (name, value) in [("a", "1"), ("b", long), ("c", "22"), ("d", big), ("e", "3")] {
            #expect(store.shell("setfattr -n user.\(name) -v \(value) a") == 0)
        }
        func attributes() throws -> [String: Int] {
            let file = AttributedFile(Array("a".utf8), in: store.provider.store.root)
            return try names(store, "a").filter { $0 != Identity.attribute }.reduce(into: [:]) {
                $0[$1] = try file.value(of: $1).count
            }
        }
        item = try await store.item("a")
        #expect(item.extendedAttributes == ["user.a": [49], "user.c": [50, 50], "user.e": [51]])
        #expect(try await store.item("a") == item)
        // Removed are only those that were shown.
        item = try await store.provider.updateMetadata(
            item.identifier, to: metadata(item, ["user.c": [1]]), baseVersion: item.version)
        #expect(try attributes() == ["user.b": 60, "user.c": 1, "user.d": 30])
        // New contents are another file.
        for new in [nil, ["user.c": [2, 2, 2]], [:]] as [[String: [UInt8]]?] {
            let shown = item.extendedAttributes
            item = try await store.provider.itemChanged(
                item.identifier, contents: TextSource("two"), metadata: metadata(item, new), baseVersion: item.version)
            let expected = (new ?? shown ?? [:]).mapValues(\.count).filter { $0.key != "user.d" }
            #expect(try attributes() == expected.merging(["user.b": 60, "user.d": 30]) { old, _ in old })
            #expect(item.extendedAttributes?["user.b"] == nil)
        }
    }
}
