import FileProvider
import Testing

@testable import ItemCatalog
@testable import Trees

/// Extended attributes in the catalog.
@Suite struct AttributeTests {
    private let catalog: TestCatalog

    init() throws {
        catalog = try TestCatalog()
        try catalog.list([])
    }

    private func set(
        _ name: String, _ value: [UInt8], of inode: InodeID, _ presence: AttributePresence = .any
    ) throws {
        try catalog.catalog.write {
            try $0.setExtendedAttribute(Array(name.utf8), to: value, of: inode, presence: presence, settle: 0)
        }
    }

    private func remove(_ name: String, of inode: InodeID) throws {
        try catalog.catalog.write { try $0.removeExtendedAttribute(Array(name.utf8), of: inode, settle: 0) }
    }

    private func get(_ name: String, of inode: InodeID) throws -> [UInt8]? {
        try catalog.catalog.read { try $0.extendedAttribute(Array(name.utf8), of: inode) }
    }

    private func names(of inode: InodeID) throws -> [String] {
        try catalog.catalog.read { try $0.extendedAttributeNames(of: inode) }.map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    private func listed(_ attributes: [String: [UInt8]]?, metadata: String, _ content: String = "v1") -> Item {
        var item = remote("A", "a", content: content, metadata: metadata, size: 10)
        item.extendedAttributes = attributes
        return item
    }

    @Test func theyAreSetReplacedAndRemoved() throws {
        let inode = try catalog.document("a", "A").id
        #expect(try get("user.x", of: inode) == nil && names(of: inode) == [])
        try set("user.x", [1, 2], of: inode)
        try set("user.empty", [], of: inode)
        #expect(try get("user.x", of: inode) == [1, 2] && get("user.empty", of: inode) == [])
        #expect(try names(of: inode) == ["user.empty", "user.x"])
        try set("user.x", [3], of: inode, .mustExist)
        #expect(try get("user.x", of: inode) == [3])
        #expect(failure { try set("user.x", [4], of: inode, .mustBeNew) } == .exists)
        #expect(failure { try set("user.y", [4], of: inode, .mustExist) } == .noAttribute)
        #expect(try get("user.x", of: inode) == [3] && get("user.y", of: inode) == nil)
        try remove("user.x", of: inode)
        #expect(try names(of: inode) == ["user.empty"])
        #expect(failure { try remove("user.x", of: inode) } == .noAttribute)
    }

    @Test func onlyTheUsersOwnAreTheStoresBusiness() throws {
        let inode = try catalog.document("a", "A").id
        for name in ["security.selinux", "trusted.x", "system.posix_acl_access", "userland", "user"] {
            try set(name, [1], of: inode)
            try remove(name, of: inode)
        }
        #expect(try catalog.outstanding() == [])
        let before = try catalog.inode(inode)
        try set("user.x", [1], of: inode)
        #expect(try catalog.outstanding() == ["touch A"])
        let after = try catalog.inode(inode)
        #expect(after.changed > before.changed && after.modified == before.modified)
        #expect(try catalog.item("a").contentRevision == 0)
    }

    @Test func theSameValueIsNoChange() throws {
        let inode = try catalog.document("a", "A").id
        try set("user.x", [1], of: inode)
        let item = try catalog.item("a")
        try set("user.x", [1], of: inode)
        #expect(try catalog.item("a").metadataRevision == item.metadataRevision)
        try set("user.x", [2], of: inode)
        let second = try catalog.item("a")
        #expect(second.metadataRevision > item.metadataRevision)
        try remove("user.x", of: inode)
        #expect(try catalog.item("a").metadataRevision > second.metadataRevision)
    }

    @Test func theyGoWithTheInode() throws {
        let inode = try catalog.create("a").id
        try set("user.x", [1], of: inode)
        try catalog.unlink("a")
        #expect(try get("user.x", of: inode) == [1])
        try catalog.catalog.write { try $0.deleteInode(inode) }
        #expect(try names(of: inode) == [])
    }

    @Test func namesThatAreNoTextStayHere() throws {
        let inode = try catalog.document("a", "A").id
        let name = Array("user.".utf8) + [0xff, 0xfe]
        try catalog.catalog.write {
            try $0.setExtendedAttribute(name, to: [1], of: inode, presence: .any, settle: 0)
        }
        #expect(try catalog.catalog.read { try $0.extendedAttribute(name, of: inode) } == [1])
        #expect(try catalog.catalog.read { try $0.userAttributes(of: inode) } == [:])
    }

    // MARK: The store's

    @Test func theStoresReplaceTheUsersOwnOnly() throws {
        try catalog.list([listed(["user.a": [1], "user.b": [2]], metadata: "m1")])
        let inode = try catalog.inode("a").id
        #expect(try names(of: inode) == ["user.a", "user.b"])
        try set("security.x", [9], of: inode)
        let changes = try catalog.changes(listing: [listed(["user.b": [3], "user.c": []], metadata: "m2")])
        #expect(changes.contains(.attributes(inode)))
        #expect(try names(of: inode) == ["security.x", "user.b", "user.c"])
        #expect(try get("user.b", of: inode) == [3])
        #expect(try catalog.outstanding() == [])
    }

    @Test func aStoreThatKeepsNoneTakesNoneAway() throws {
        try catalog.list([listed(["user.a": [1]], metadata: "m1")])
        let inode = try catalog.inode("a").id
        try catalog.list([listed(nil, metadata: "m2")])
        #expect(try names(of: inode) == ["user.a"])
        try catalog.list([listed([:], metadata: "m3")])
        #expect(try names(of: inode) == [])
    }

    @Test func aLocalChangeIsNotWrittenOver() throws {
        try catalog.list([listed(["user.a": [1]], metadata: "m1")])
        let inode = try catalog.inode("a").id
        try set("user.a", [5], of: inode)
        try catalog.list([listed(["user.a": [2]], metadata: "m2")])
        #expect(try get("user.a", of: inode) == [5])
        #expect(try catalog.outstanding() == ["touch A"])
        // Nor by what comes while contents are pending.
        let item = try catalog.item("a")
        try catalog.catalog.write { try $0.keepMetadataLocal(item.id, metadataRevision: item.metadataRevision) }
        try catalog.edit(inode)
        try catalog.list([listed(["user.a": [3]], metadata: "m3")])
        #expect(try get("user.a", of: inode) == [5])
    }

    /// A provider is not trusted.
    @Test func otherNamespacesAreNotTakenFromTheStore() throws {
        try catalog.list([
            listed(["user.ok": [1], "security.capability": [2], "trusted.x": [3], "system.y": [4]], metadata: "m1")
        ])
        #expect(try names(of: catalog.inode("a").id) == ["user.ok"])
    }

    @Test func aWriteTakesCapabilitiesAway() throws {
        let inode = try catalog.document("a", "A").id
        try set("security.capability", [1], of: inode)
        try set("security.other", [1], of: inode)
        try catalog.catalog.write { try $0.dropCapabilities(of: inode) }
        #expect(try names(of: inode) == ["security.other"])
    }

    // MARK: As bytes

    @Test(
        arguments: [
            [:], ["user.a": []], ["user.a": [0], "user.b": [0, 0, 0, 0, 0]], ["": [1]], ["user.ü€😀": [255, 0]],
            ["user.long": [UInt8](repeating: 7, count: 70_000)],
        ] as [[String: [UInt8]]])
    func theyComeBackAsTheyWent(attributes: [String: [UInt8]]) {
        let bytes = ExtendedAttributes.encode(attributes)
        #expect(ExtendedAttributes.decode(bytes) == attributes)
    }

    @Test func equalSetsAreEqualBytes() {
        var (one, other): ([String: [UInt8]], [String: [UInt8]]) = ([:], [:])
        for number in 0..<100 { one["user.\(number)"] = [UInt8(number)] }
        for number in (0..<100).reversed() { other["user.\(number)"] = [UInt8(number)] }
        #expect(ExtendedAttributes.encode(one) == ExtendedAttributes.encode(other))
    }

    @Test func whatIsNoSuchSetIsRefused() {
        let good = ExtendedAttributes.encode(["user.a": [1, 2, 3], "user.b": [4]])
        // Cut anywhere but between two attributes.
        let between = ExtendedAttributes.encode(["user.a": [1, 2, 3]]).count
        for count in 1..<good.count where count != between {
            #expect(ExtendedAttributes.decode(Array(good.prefix(count))) == nil, "\(count) bytes")
        }
        for hostile: [UInt8] in [
            [0], [0, 0, 0], [0, 0, 0, 0], [255, 255, 255, 255], [255, 255, 255, 127, 1],
            [0, 0, 0, 0, 255, 255, 255, 255], [1, 0, 0, 0, 65, 2, 0, 0, 0, 1], good + [1],
        ] {
            #expect(ExtendedAttributes.decode(hostile) == nil, "\(hostile)")
        }
        // Two of one name: the later one. No text: shown as such.
        #expect(
            ExtendedAttributes.decode([1, 0, 0, 0, 65, 1, 0, 0, 0, 1, 1, 0, 0, 0, 65, 1, 0, 0, 0, 2]) == ["A": [2]])
        #expect(ExtendedAttributes.decode([1, 0, 0, 0, 255, 0, 0, 0, 0]) == ["\u{fffd}": []])
    }

    /// A part of them would be sent as all that there are, and the provider would remove the others.
    @Test func ofTooManyNoneIsTaken() throws {
        let value = [UInt8](repeating: 7, count: 60_000)
        var some = listed(["user.a": value, "user.b": value], metadata: "m1")
        #expect(some.trustedAttributes?.count == 2)
        some.extendedAttributes?["user.c"] = value
        #expect(some.trustedAttributes == nil && some.hasTooManyAttributes)
        some.extendedAttributes = Dictionary(uniqueKeysWithValues: (0..<20_000).map { ("user.\($0)", [UInt8]()) })
        #expect(some.trustedAttributes == nil)
    }

    @Test func noMoreAreSetThanAnItemCanHave() throws {
        let inode = try catalog.document("a", "A").id
        let value = [UInt8](repeating: 7, count: ExtendedAttribute.largestValue)
        try set("user.a", value, of: inode)
        try set("user.b", Array(value.dropLast(20)), of: inode)
        #expect(failure { try set("user.c", value, of: inode) } == .diskFull)
        #expect(failure { try set("user.b", value, of: inode) } == .diskFull)
        // What lives here only has other limits; and what gets no longer always fits.
        try set("trusted.c", value, of: inode)
        try set("user.b", [1], of: inode)
        try set("user.c", Array(value.dropLast(20)), of: inode)
    }
}
