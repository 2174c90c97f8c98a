import FileProvider
import FileProviderTesting
import Foundation
import S3Harness
import Testing

@testable import S3Provider

/// Beyond the rules of the conformance suite: what other programs leave in a bucket with versions.
@Suite("S3: versions", .timeLimit(.minutes(5)))
struct S3VersionTests {
    private static func text(_ provider: S3Provider, _ version: DocumentVersion, _ item: Item) async throws -> String {
        let sink = CollectingSink(range: 0..<version.size)
        try await provider.startProvidingVersion(version, of: item.identifier, into: sink)
        return String(decoding: try #require(sink.bytes), as: UTF8.self)
    }

    private static func letter(_ name: Filename, _ seconds: Int64 = 1_600_000_000) -> ItemTemplate {
        ItemTemplate(
            parentIdentifier: .rootContainer, filename: name, kind: .document,
            contentModificationDate: FileTime(seconds: seconds))
    }

    private static func metadata(_ seconds: Int64) -> ItemMetadata {
        ItemMetadata(contentModificationDate: FileTime(seconds: seconds))
    }

    private static func change(_ provider: S3Provider, _ item: Item, _ text: String) async throws -> Item {
        try await provider.itemChanged(
            item.identifier, contents: BytesSource(Array(text.utf8)),
            metadata: metadata(item.contentModificationDate.seconds),
            baseVersion: item.version)
    }

    @Test("a document from before the bucket had versions, other dates, a longer key", arguments: S3ServerKind.tested)
    func list(_ kind: S3ServerKind) async throws {
        try await withS3(kind) { bucket in
            let provider = try bucket.provider()
            var item = try await provider.createItem(
                Self.letter("a b+ü"), contents: BytesSource(Array("before".utf8)))
            #expect(try await provider.versions(of: item.identifier, limit: 10).isEmpty)
            try bucket.keepVersions()
            // (Its key begins with the other one.)
            let longer = try await provider.createItem(
                Self.letter("a b+ü.txt"), contents: BytesSource(Array("x".utf8)))
            _ = try await Self.change(provider, longer, "of another document")
            item = try await Self.change(provider, item, "first, longer")
            item = try await provider.updateMetadata(
                item.identifier, to: Self.metadata(1_700_000_000), baseVersion: item.version)
            item = try await Self.change(provider, item, "second")
            item = try await provider.updateMetadata(
                item.identifier, to: Self.metadata(1_710_000_000), baseVersion: item.version)
            let versions = try await provider.versions(of: item.identifier, limit: 10)
            var texts: [String] = []
            for version in versions { texts.append(try await Self.text(provider, version, item)) }
            #expect(texts == ["first, longer", "before"], "the same contents with another date are no version")
            #expect(versions.map(\.size) == [13, 6])
            let newest = try await provider.versions(of: item.identifier, limit: 1)
            #expect(newest == Array(versions.prefix(1)))
            // As another program brings it back: the mark of the deletion is a version too.
            try await provider.deleteItem(item.identifier, baseVersion: item.version)
            let again = try await provider.createItem(
                Self.letter("a b+ü"), contents: BytesSource(Array("again".utf8)))
            let all = try await provider.versions(of: again.identifier, limit: 10)
            #expect(all.map(\.size) == [6, 13, 6], "\(all)")
            await provider.invalidate()
        }
    }

    @Test func reading() throws {
        let page = """
            <?xml version="1.0"?><ListVersionsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
            <EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>
            <NextKeyMarker>a%20b</NextKeyMarker><NextVersionIdMarker>7</NextVersionIdMarker>
            <DeleteMarker><Key>a+b</Key><VersionId>9</VersionId><IsLatest>true</IsLatest>
            <LastModified>2026-01-02T03:04:05.678Z</LastModified></DeleteMarker>
            <Version><Key>a+b</Key><VersionId>8</VersionId><IsLatest>false</IsLatest><Size>5</Size>
            <LastModified>2026-01-02T03:04:05.678Z</LastModified><ETag>"e"</ETag>
            <Owner><ID>1</ID><DisplayName>ada</DisplayName></Owner></Version>
            <Version><Key>a+b</Key><VersionId></VersionId><Size>5</Size></Version>
            </ListVersionsResult>
            """
        let listing = try S3VersionListing(Array(page.utf8))
        #expect(listing.next == S3VersionListing.Mark(key: "a b", version: "7"))
        #expect(listing.versions.map(\.identifier) == ["9", "8"])
        #expect(listing.versions.map(\.key) == ["a b", "a b"])
        #expect(listing.versions[0].isDeletion && listing.versions[0].isLatest)
        #expect(listing.versions[1].owner == "ada" && listing.versions[1].object?.entityTag == "e")
        #expect(throws: (any Error).self) { try S3VersionListing(Array("<Other/>".utf8)) }
        let endless = page.replacing("<NextKeyMarker>a%20b</NextKeyMarker>", with: "")
        #expect(throws: (any Error).self) { try S3VersionListing(Array(endless.utf8)) }
    }

    @Test("deleted documents come back beside others of their name; a moved one is in the trash too")
    func trash() async throws {
        try await withS3(.usual) { bucket in
            let provider = try bucket.provider()
            let plain = try await provider.createItem(
                Self.letter("plain"), contents: BytesSource(Array("plain".utf8)))
            do throws(FileProviderError) {
                _ = try await provider.trashedItems()
                Issue.record("a bucket without versions has no trash")
            } catch { #expect(error.code == .unsupported) }
            #expect(!provider.hasTrash)
            await provider.invalidate()

            try bucket.keepVersions()
            let versioned = try bucket.provider()
            for text in ["first", "second", "third"] {
                let item = try await versioned.createItem(
                    Self.letter("June.txt"), contents: BytesSource(Array(text.utf8)))
                try await versioned.trashItem(item.identifier, baseVersion: item.version)
                // (Only the last deletion under a name is listed; the one before comes back by its name in the trash.)
                let trashed = try await versioned.trashedItems()
                let entry = try #require(trashed.first)
                #expect(trashed.count == 1 && entry.path == ["June.txt"] && entry.size == Int64(text.utf8.count))
                #expect(entry.deleted != nil)
                if text == "third" { continue }
                _ = try await versioned.createItem(Self.letter("June.txt"), contents: BytesSource([1]))
                let place = try await versioned.restoreTrashedItem(entry.identifier)
                #expect(place == [text == "first" ? "June (restored).txt" : "June (restored 2).txt"])
                let other = try await versioned.providePlaceholder(for: ItemIdentifier("June.txt"))
                try await versioned.deleteItem(other.identifier, baseVersion: other.version)
            }
            _ = try await versioned.moveItem(
                plain.identifier, to: .rootContainer, as: "moved", baseVersion: plain.version)
            let all = try await versioned.trashedItems()
            #expect(Set(all.map(\.path)) == [["June.txt"], ["plain"]])
            let names = try await versioned.enumerateItems(in: .rootContainer, startingAt: nil).items.map(\.filename)
            #expect(Set(names) == ["June (restored).txt", "June (restored 2).txt", "moved"])
            await versioned.invalidate()
        }
    }
}
