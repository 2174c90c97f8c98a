import FileProvider
import Glibc
import Testing

@testable import DirectoryProvider

/// Modes and dates, there and back, of every kind of item.
@Suite struct MetadataTests {
    /// Before 1970, and with all nine digits.
    private static let dates = [
        FileTime(seconds: -1, nanoseconds: 999_999_999), FileTime(seconds: 0),
        FileTime(seconds: 1_234_567_890, nanoseconds: 123_456_789), FileTime(seconds: 4_102_444_800),
    ]
    /// Sticky too. Setuid and setgid: ``PermissionTests``.
    private static let modes: [UInt16] = [0o1777, 0o755, 0o711, 0o644, 0o400, 0o700]

    private func expect(
        _ item: Item, _ store: TestStore, mode: UInt16, date: FileTime,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(item.posixPermissions == mode, sourceLocation: sourceLocation)
        #expect(item.contentModificationDate == date, sourceLocation: sourceLocation)
        // What another program sees.
        var status = stat()
        try #require(lstat(store.path(item.filename.string), &status) == 0)
        #expect(UInt16(status.st_mode & 0o7777) == mode, sourceLocation: sourceLocation)
        #expect(
            FileTime(seconds: Int64(status.st_mtim.tv_sec), nanoseconds: Int64(status.st_mtim.tv_nsec)) == date,
            sourceLocation: sourceLocation)
    }

    /// Before 1677 and after 2262 there is no number of nanoseconds in 64 bits. (tmpfs keeps every date.)
    @Test(arguments: [-28_501_372_800, 16_725_225_600] as [Int64])
    func datesFarAway(_ seconds: Int64) async throws {
        let store = try TestStore(in: "/dev/shm")
        let date = FileTime(seconds: seconds, nanoseconds: 5)
        let item = try await store.provider.createItem(
            ItemTemplate(
                parentIdentifier: .rootContainer, filename: "a", kind: .document, contentModificationDate: date,
                posixPermissions: 0o644), contents: TextSource("one"))
        try expect(item, store, mode: 0o644, date: date)
        var metadata = ItemMetadata(contentModificationDate: FileTime(seconds: 0), posixPermissions: 0o644)
        let other = try await store.provider.updateMetadata(item.identifier, to: metadata, baseVersion: item.version)
        try expect(other, store, mode: 0o644, date: FileTime(seconds: 0))
        metadata.contentModificationDate = date
        let changed = try await store.provider.itemChanged(
            item.identifier, contents: TextSource("two"), metadata: metadata, baseVersion: other.version)
        try expect(changed, store, mode: 0o644, date: date)
    }

    @Test(arguments: [ItemKind.document, .folder], Self.modes)
    func modesAndDates(_ kind: ItemKind, _ mode: UInt16) async throws {
        let store = try TestStore()
        var item = try await store.provider.createItem(
            ItemTemplate(
                parentIdentifier: .rootContainer, filename: "a", kind: kind,
                contentModificationDate: Self.dates[0], posixPermissions: mode),
            contents: kind.isDocument ? TextSource("one") : nil)
        try expect(item, store, mode: mode, date: Self.dates[0])
        for date in Self.dates.reversed() {
            let other = mode ^ 0o111
            for mode in [other, mode] {
                item = try await store.provider.updateMetadata(
                    item.identifier, to: ItemMetadata(contentModificationDate: date, posixPermissions: mode),
                    baseVersion: item.version)
                try expect(item, store, mode: mode, date: date)
            }
        }
        guard kind.isDocument else { return }
        for given in [nil, mode] {
            item = try await store.provider.itemChanged(
                item.identifier, contents: TextSource("two"),
                metadata: ItemMetadata(contentModificationDate: Self.dates[2], posixPermissions: given),
                baseVersion: item.version)
            try expect(item, store, mode: mode, date: Self.dates[2])
        }
    }

    /// A link has a date, and no mode of its own; what it points to is not touched.
    @Test func links() async throws {
        let store = try TestStore()
        let goal = try await store.create("goal", "one")
        for date in Self.dates {
            let made = try await store.provider.createItem(
                ItemTemplate(
                    parentIdentifier: .rootContainer, filename: "link",
                    kind: .symbolicLink(target: Array("goal".utf8)), contentModificationDate: date,
                    posixPermissions: 0o600, extendedAttributes: ["user.a": [1]]),
                contents: nil)
            try expect(made, store, mode: 0o777, date: date)
            #expect(made.extendedAttributes == nil)
            let later = FileTime(nanoseconds: date.nanoseconds + 1)
            let set = try await store.provider.updateMetadata(
                made.identifier,
                to: ItemMetadata(
                    contentModificationDate: later, posixPermissions: 0o600, extendedAttributes: ["user.a": [1]]),
                baseVersion: made.version)
            try expect(set, store, mode: 0o777, date: later)
            #expect(set.kind == made.kind && set.version.content == made.version.content)
            try await store.provider.deleteItem(set.identifier, baseVersion: set.version)
        }
        #expect(try await store.item("goal") == goal)
    }
}
