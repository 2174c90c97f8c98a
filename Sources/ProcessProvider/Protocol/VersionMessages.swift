package import FileProvider

// Messages about the versions that a store keeps of a document.

extension Message {
    package struct Versions: Codable, Sendable {
        package var identifier: ItemIdentifier
        package var limit: Int
    }

    package struct ProvideVersion: Codable, Sendable {
        package var identifier: ItemIdentifier
        package var version: WireDocumentVersion
        var credit: Int? = Credit.initial
        package init(identifier: ItemIdentifier, version: WireDocumentVersion) {
            (self.identifier, self.version) = (identifier, version)
        }
    }

    package struct VersionList: ListAnswer {
        var versions: [WireDocumentVersion]
        package init(_ versions: [DocumentVersion]) { self.versions = versions.map(WireDocumentVersion.init) }
        package var value: [DocumentVersion] { versions.map(\.value) }

        package var halves: (VersionList, VersionList)? {
            guard let (a, b) = versions.halves else { return nil }
            var (first, second) = (self, self)
            (first.versions, second.versions) = (a, b)
            return (first, second)
        }

        package mutating func append(_ later: VersionList) { versions += later.versions }
    }
}

/// A version that the store keeps of a document.
package struct WireDocumentVersion: Codable, Sendable {
    var identifier: String
    var size: Int64
    var contentModificationDate: WireTime
    var author: String?
    var label: String?

    package init(_ version: DocumentVersion) {
        identifier = version.identifier
        size = version.size
        contentModificationDate = WireTime(version.contentModificationDate)
        (author, label) = (version.author, version.label)
    }

    package var value: DocumentVersion {
        DocumentVersion(
            identifier: identifier, size: size, contentModificationDate: contentModificationDate.value,
            author: author, label: label)
    }
}
