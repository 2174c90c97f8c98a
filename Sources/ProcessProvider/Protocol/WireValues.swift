package import FileProvider
import Foundation

// The values of the SDK in the protocol's JSON. Unknown fields are ignored, and a field with the default value may be
// missing.

/// Bytes: a JSON string where they are UTF-8, else `{"base64": "…"}`.
package struct ByteString: Codable, Hashable, Sendable {
    package var bytes: [UInt8]
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    private enum CodingKeys: String, CodingKey { case base64 }

    package init(from decoder: any Decoder) throws {
        if let text = try? decoder.singleValueContainer().decode(String.self) {
            bytes = Array(text.utf8)
            return
        }
        let container = try decoder.container(keyedBy: CodingKeys.self)
        bytes = Array(try container.decode(Data.self, forKey: .base64))
    }

    package func encode(to encoder: any Encoder) throws {
        if let text = String(validating: bytes, as: UTF8.self) {
            var container = encoder.singleValueContainer()
            return try container.encode(text)
        }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Data(bytes), forKey: .base64)
    }
}

package struct WireTime: Codable, Hashable, Sendable {
    var seconds: Int64
    /// 0 ..< 1,000,000,000; missing: 0.
    var nanoseconds: Int64?

    init(_ time: FileTime) {
        seconds = time.seconds
        nanoseconds = time.subsecond == 0 ? nil : time.subsecond
    }

    var value: FileTime { FileTime(seconds: seconds, nanoseconds: nanoseconds ?? 0) }
}

package struct WireVersion: Codable, Hashable, Sendable {
    var content: ByteString
    var metadata: ByteString

    init(_ version: ItemVersion) {
        content = ByteString(version.content.bytes)
        metadata = ByteString(version.metadata.bytes)
    }

    package var value: ItemVersion {
        ItemVersion(content: ContentVersion(bytes: content.bytes), metadata: MetadataVersion(bytes: metadata.bytes))
    }
}

/// `document`, `folder` or `symbolicLink`; a link also has a `target`.
package enum WireKind: String, Codable, Sendable {
    case document, folder, symbolicLink

    init(_ kind: ItemKind) {
        self =
            switch kind {
            case .document: .document
            case .folder: .folder
            case .symbolicLink: .symbolicLink
            }
    }

    func value(_ target: ByteString?) -> ItemKind {
        switch self {
        case .document: .document
        case .folder: .folder
        case .symbolicLink: .symbolicLink(target: target?.bytes ?? [])
        }
    }
}

extension ItemKind {
    var wireTarget: ByteString? {
        if case .symbolicLink(let target) = self { ByteString(target) } else { nil }
    }
}

package struct WireItem: Codable, Hashable, Sendable {
    var identifier: ItemIdentifier
    var parent: ItemIdentifier
    var filename: ByteString
    var kind: WireKind
    var target: ByteString?
    var size: Int64?
    var contentModificationDate: WireTime
    var creationDate: WireTime?
    var posixPermissions: UInt16?
    var version: WireVersion
    var extendedAttributes: [String: ByteString]?
    /// Missing: all.
    var capabilities: [String]?
    var isVolume: Bool?
    var isFavorite: Bool?
    var tags: [String]?

    private enum CodingKeys: String, CodingKey {
        case identifier, parent, filename, kind, target, size, contentModificationDate, creationDate, posixPermissions,
            version, extendedAttributes, capabilities, isVolume, isFavorite, tags
    }

    /// (A document without a size would be an empty one.)
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        identifier = try container.decode(ItemIdentifier.self, forKey: .identifier)
        parent = try container.decode(ItemIdentifier.self, forKey: .parent)
        filename = try container.decode(ByteString.self, forKey: .filename)
        kind = try container.decode(WireKind.self, forKey: .kind)
        target = try container.decodeIfPresent(ByteString.self, forKey: .target)
        size =
            kind == .document
            ? try container.decode(Int64.self, forKey: .size) : try container.decodeIfPresent(Int64.self, forKey: .size)
        contentModificationDate = try container.decode(WireTime.self, forKey: .contentModificationDate)
        creationDate = try container.decodeIfPresent(WireTime.self, forKey: .creationDate)
        posixPermissions = try container.decodeIfPresent(UInt16.self, forKey: .posixPermissions)
        version = try container.decode(WireVersion.self, forKey: .version)
        extendedAttributes = try container.decodeIfPresent([String: ByteString].self, forKey: .extendedAttributes)
        capabilities = try container.decodeIfPresent([String].self, forKey: .capabilities)
        isVolume = try container.decodeIfPresent(Bool.self, forKey: .isVolume)
        isFavorite = try container.decodeIfPresent(Bool.self, forKey: .isFavorite)
        tags = try container.decodeIfPresent([String].self, forKey: .tags)
    }

    private static let capabilityNames: [(String, ItemCapabilities)] = [
        ("reading", .reading), ("writing", .writing), ("renaming", .renaming), ("deleting", .deleting),
        ("addingSubItems", .addingSubItems),
    ]

    package init(_ item: Item) {
        identifier = item.identifier
        parent = item.parentIdentifier
        filename = ByteString(item.filename.bytes)
        kind = WireKind(item.kind)
        target = item.kind.wireTarget
        size = item.size
        contentModificationDate = WireTime(item.contentModificationDate)
        creationDate = item.creationDate.map(WireTime.init)
        posixPermissions = item.posixPermissions
        version = WireVersion(item.version)
        extendedAttributes = item.extendedAttributes?.mapValues { ByteString($0) }
        capabilities =
            item.capabilities == .all
            ? nil : Self.capabilityNames.compactMap { item.capabilities.contains($1) ? $0 : nil }
        isVolume = item.isVolume ? true : nil
        isFavorite = item.isFavorite ? true : nil
        tags = item.tags.isEmpty ? nil : item.tags
    }

    package var value: Item {
        var item = Item(
            identifier: identifier, parentIdentifier: parent, filename: Filename(bytes: filename.bytes),
            kind: kind.value(target), size: size ?? 0, contentModificationDate: contentModificationDate.value,
            creationDate: creationDate?.value, posixPermissions: posixPermissions, version: version.value,
            extendedAttributes: extendedAttributes?.mapValues(\.bytes),
            capabilities: capabilities.map { names in
                Self.capabilityNames.reduce(into: []) { if names.contains($1.0) { $0.insert($1.1) } }
            } ?? .all,
            isVolume: isVolume ?? false)
        (item.isFavorite, item.tags) = (isFavorite ?? false, tags ?? [])
        return item
    }
}

package struct WireLink: Codable, Hashable, Sendable {
    var identifier: String
    var url: String
    var hasPassword: Bool?
    var until: WireTime?
    var allowsEditing: Bool?

    init(_ link: SharedLink) {
        (identifier, url, until) = (link.identifier, link.url, link.until.map(WireTime.init))
        (hasPassword, allowsEditing) = (link.hasPassword, link.allowsEditing)
    }

    var value: SharedLink {
        SharedLink(
            identifier: identifier, url: url, hasPassword: hasPassword ?? false, until: until?.value,
            allowsEditing: allowsEditing ?? false)
    }
}

package struct WireTrashed: Codable, Hashable, Sendable {
    var identifier: String
    var path: [ByteString]
    var kind: WireKind
    var target: ByteString?
    var size: Int64?
    var deleted: WireTime?

    init(_ item: TrashEntry) {
        (identifier, path) = (item.identifier, item.path.map { ByteString($0.bytes) })
        (kind, target, size) = (WireKind(item.kind), item.kind.wireTarget, item.size)
        deleted = item.deleted.map(WireTime.init)
    }

    var value: TrashEntry {
        TrashEntry(
            identifier: identifier, path: path.map { Filename(bytes: $0.bytes) }, kind: kind.value(target),
            size: size ?? 0, deleted: deleted?.value)
    }
}

package struct WireSetID: Codable, Hashable, Sendable {
    var bits: UInt16
    var owner: UInt32
    var group: UInt32

    init(_ value: SetID) { (bits, owner, group) = (value.bits, value.owner, value.group) }
    var value: SetID { SetID(bits: bits, owner: owner, group: group) }
}

package struct WireTemplate: Codable, Hashable, Sendable {
    var parent: ItemIdentifier
    var filename: ByteString
    var kind: WireKind
    var target: ByteString?
    var contentModificationDate: WireTime
    var posixPermissions: UInt16?
    var setID: WireSetID?
    var extendedAttributes: [String: ByteString]?

    init(_ template: ItemTemplate) {
        parent = template.parentIdentifier
        filename = ByteString(template.filename.bytes)
        kind = WireKind(template.kind)
        target = template.kind.wireTarget
        contentModificationDate = WireTime(template.contentModificationDate)
        posixPermissions = template.posixPermissions
        setID = template.setID.map(WireSetID.init)
        extendedAttributes = template.extendedAttributes?.mapValues { ByteString($0) }
    }

    package var value: ItemTemplate {
        ItemTemplate(
            parentIdentifier: parent, filename: Filename(bytes: filename.bytes), kind: kind.value(target),
            contentModificationDate: contentModificationDate.value, posixPermissions: posixPermissions,
            extendedAttributes: extendedAttributes?.mapValues(\.bytes), setID: setID?.value)
    }
}

package struct WireMetadata: Codable, Hashable, Sendable {
    var contentModificationDate: WireTime
    var posixPermissions: UInt16?
    var setID: WireSetID?
    var extendedAttributes: [String: ByteString]?

    init(_ metadata: ItemMetadata) {
        contentModificationDate = WireTime(metadata.contentModificationDate)
        posixPermissions = metadata.posixPermissions
        setID = metadata.setID.map(WireSetID.init)
        extendedAttributes = metadata.extendedAttributes?.mapValues { ByteString($0) }
    }

    package var value: ItemMetadata {
        ItemMetadata(
            contentModificationDate: contentModificationDate.value, posixPermissions: posixPermissions,
            extendedAttributes: extendedAttributes?.mapValues(\.bytes), setID: setID?.value)
    }
}

package struct WireKnownItem: Codable, Hashable, Sendable {
    var identifier: ItemIdentifier
    var parent: ItemIdentifier
    var filename: ByteString
    var isFolder: Bool
    var size: Int64
    var version: WireVersion

    package init(_ item: KnownItem) {
        identifier = item.identifier
        parent = item.parentIdentifier
        filename = ByteString(item.filename.bytes)
        isFolder = item.isFolder
        size = item.size
        version = WireVersion(ItemVersion(content: item.contentVersion, metadata: item.metadataVersion))
    }

    package var value: KnownItem {
        KnownItem(
            identifier: identifier, parentIdentifier: parent, filename: Filename(bytes: filename.bytes),
            isFolder: isFolder, size: size, contentVersion: version.value.content,
            metadataVersion: version.value.metadata)
    }
}

/// The error of an answer: a code by its name in the SDK, and a message for people.
package struct WireError: Codable, Hashable, Sendable {
    var code: String
    var message: String?
    var item: WireItem?
    /// As `FileProviderError.isTransient`.
    var isTransient: Bool?

    /// In characters.
    private static let longestMessage = 4_000

    package init(_ error: FileProviderError) {
        code = error.code.description
        message = String(error.message.prefix(Self.longestMessage))
        item = error.item.map(WireItem.init)
        isTransient = error.isTransient ? true : nil
    }

    package var value: FileProviderError {
        let known = FileProviderError.Code.allCases.first { $0.description == code }
        let text = message.map { String($0.prefix(Self.longestMessage)) } ?? "the provider gives no reason"
        var error = FileProviderError(
            known ?? .cannotSynchronize,
            known == nil ? "\(text) (unknown code “\(code.prefix(100))”)" : text, item: item?.value)
        error.isTransient = known == .serverUnreachable && isTransient == true
        return error
    }
}
