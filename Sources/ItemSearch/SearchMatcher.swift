import FileProvider
import Foundation
package import ItemCatalog
package import QueryLanguage
import Surroundings
package import Trees
package import UniformTypes

/// Properties of an item that are not in its row.
package struct ItemFacts: Sendable, Equatable {
    /// Relative to the mount point.
    package var path: [UInt8]
    /// A uniform type identifier.
    package var type: String
    package var isPinned: Bool
    package var isInConflict: Bool
    /// Bytes of the document are on their way here.
    package var isDownloading: Bool
    /// The last error, for people.
    package var failure: String?
    /// The name of ``SearchRow/uid``; nil: that number has no name.
    package var owner: String?
    /// Only if they were requested.
    package var tags: [String]
}

/// Parts of the daemon that a search needs besides the catalog.
package struct SearchSurroundings: Sendable {
    package var types: UniformTypeTable
    /// The error of the last download of a document.
    package var downloadFailure: @Sendable (InodeID) -> String?
    package var isDownloading: @Sendable (InodeID) -> Bool
    /// The documents with indexed texts that have all words of a text.
    package var withText: @Sendable (String) -> Set<InodeID>

    package init(
        types: UniformTypeTable = .system, downloadFailure: @escaping @Sendable (InodeID) -> String? = { _ in nil },
        isDownloading: @escaping @Sendable (InodeID) -> Bool = { _ in false },
        withText: @escaping @Sendable (String) -> Set<InodeID> = { _ in [] }
    ) {
        self.types = types
        self.downloadFailure = downloadFailure
        self.isDownloading = isDownloading
        self.withText = withText
    }
}

/// Decides for row after row whether it is a result. It remembers folders, types and users: one for each search, for
/// one thread at a time.
package struct SearchMatcher {
    /// A predicate, prepared as far as possible.
    private indirect enum Test {
        case always(Bool)
        case all([Test])
        case any([Test])
        case not(Test)
        case name(TextMatcher)
        case path(TextMatcher)
        case type(Int)
        case size(QueryPredicate.Comparison, Int64)
        case date(QueryPredicate.DateAttribute, QueryPredicate.Comparison, Double)
        case owner(UInt32)
        case state(QueryPredicate.ItemCondition)
        case tag(String)
        case text(String)
    }
    private let test: Test
    private let namesTest: Test
    private let surroundings: SearchSurroundings
    private let wantsTags: Bool
    package var folders: FolderTable
    private var types: FilenameTypes
    private var wantedTypes: [WantedType] = []
    private var owners: [UInt32: String?] = [:]
    private var texts: [String: Set<InodeID>] = [:]
    /// Folded texts of the present row, shared by all conditions.
    private var folded: (name: String?, path: String?)
    /// See ``Catalog/Reader/inodesInConflict()``.
    package var inConflict: Set<InodeID> = []

    private struct WantedType {
        var type: UniformType
        /// For other types: whether they conform to it.
        var known: [UniformType: Bool] = [:]
    }

    package init(
        _ predicate: QueryPredicate, onNames: [QueryPredicate], scopes: Set<InodeID>?, isShallow: Bool = false,
        wantsTags: Bool, _ surroundings: SearchSurroundings
    ) {
        self.surroundings = surroundings
        self.wantsTags = wantsTags
        folders = FolderTable(scopes: scopes, isShallow: isShallow)
        types = FilenameTypes(surroundings.types)
        var wanted: [WantedType] = []
        test = Self.prepare(predicate, &wanted)
        namesTest = Self.prepare(.all(onNames), &wanted)
        wantedTypes = wanted
    }

    private static func prepare(_ predicate: QueryPredicate, _ wanted: inout [WantedType]) -> Test {
        switch predicate {
        case .everything: return .always(true)
        case .all(let parts): return .all(parts.map { prepare($0, &wanted) })
        case .any(let parts): return .any(parts.map { prepare($0, &wanted) })
        case .not(let part): return .not(prepare(part, &wanted))
        case .name(let match): return .name(TextMatcher(match))
        case .path(let match): return .path(TextMatcher(match))
        case .type(let identifier):
            wanted.append(WantedType(type: UniformType(identifier)))
            return .type(wanted.count - 1)
        case .size(let comparison, let bytes): return .size(comparison, bytes)
        case .date(let attribute, let comparison, let seconds): return .date(attribute, comparison, seconds)
        case .owner(let name): return userNumber(name).map { .owner($0) } ?? .always(false)
        case .state(let state): return .state(state)
        case .tag(let tag): return .tag(FoldedText.fold(tag))
        case .text(let text): return .text(text)
        }
    }

    // MARK: Matching

    /// Whether a name alone allows the item to be a result. (Its type is that of a document of this name, or a
    /// folder's.)
    package mutating func mayMatch(name: [UInt8]) -> Bool {
        isNameMatch(namesTest, name, FoldedText.fold(bytes: name))
    }

    private mutating func isNameMatch(_ test: Test, _ name: [UInt8], _ folded: String) -> Bool {
        switch test {
        case .all(let parts): return parts.allSatisfy { isNameMatch($0, name, folded) }
        case .any(let parts): return parts.contains { isNameMatch($0, name, folded) }
        case .name(let matcher): return matcher.matches(folded: folded)
        case .type(let index):
            let type = types.type(of: String(decoding: name, as: UTF8.self))
            return conforms(type, index) || conforms(Self.folder, index) || conforms(Self.link, index)
        default: return true
        }
    }

    private static let folder = UniformType("public.folder")
    private static let link = UniformType("public.symlink")

    private mutating func conforms(_ type: UniformType, _ index: Int) -> Bool {
        if let known = wantedTypes[index].known[type] { return known }
        let result = surroundings.types.conforms(type, to: wantedTypes[index].type)
        wantedTypes[index].known[type] = result
        return result
    }

    /// The facts about a row that is a result; nil: it is not.
    package mutating func facts(of row: SearchRow, _ reader: Catalog.Reader) throws -> ItemFacts? {
        folded = (nil, nil)
        guard try folders.isWithin(row, reader), try isMatch(test, row, reader) else { return nil }
        guard let path = try path(of: row, reader) else { return nil }
        return ItemFacts(
            path: path, type: type(of: row).identifier, isPinned: try isPinned(row, reader),
            isInConflict: inConflict.contains(row.inode), isDownloading: isDownloading(row), failure: failure(of: row),
            owner: owner(row.uid),
            tags: wantsTags ? try Self.tags(of: row.inode, reader) : [])
    }

    private mutating func isMatch(_ test: Test, _ row: SearchRow, _ reader: Catalog.Reader) throws -> Bool {
        switch test {
        case .always(let result): return result
        case .all(let parts):
            for part in parts where try !isMatch(part, row, reader) { return false }
            return true
        case .any(let parts):
            for part in parts where try isMatch(part, row, reader) { return true }
            return false
        case .not(let part): return try !isMatch(part, row, reader)
        case .name(let matcher):
            let name = folded.name ?? FoldedText.fold(bytes: row.name.bytes)
            folded.name = name
            return matcher.matches(folded: name)
        case .path(let matcher):
            if folded.path == nil { folded.path = try path(of: row, reader).map { FoldedText.fold(bytes: $0) } }
            return folded.path.map { matcher.matches(folded: $0) } ?? false
        case .type(let index): return conforms(type(of: row), index)
        case .size(let comparison, let bytes): return row.kind == .document && comparison.holds(row.size, bytes)
        case .date(let attribute, let comparison, let seconds):
            let date =
                switch attribute {
                case .modified: row.modified
                case .created: row.created
                case .accessed: row.accessed
                }
            return comparison.holds(Double(date.seconds) + Double(date.subsecond) / 1e9, seconds)
        case .owner(let number): return row.uid == number
        case .state(let state): return try isMatch(state, row, reader)
        case .tag(let tag): return try Self.tags(of: row.inode, reader).contains { FoldedText.fold($0) == tag }
        case .text(let text):
            guard row.kind == .document, row.isWhole else { return false }
            return self.inodes(withText: text).contains(row.inode)
        }
    }

    private mutating func isMatch(
        _ state: QueryPredicate.ItemCondition, _ row: SearchRow, _ reader: Catalog.Reader
    ) throws -> Bool {
        switch state {
        case .placeholder: row.kind == .folder ? !row.isEnumerated : row.kind == .document && row.isPlaceholder
        case .partial: row.kind == .document && !row.isWhole && row.bytesHere > 0
        case .downloaded: row.kind == .folder ? row.isEnumerated : row.isWhole
        case .downloading: isDownloading(row)
        case .uploading: row.isPending
        case .error: failure(of: row) != nil
        case .conflict: inConflict.contains(row.inode)
        case .pinned: try isPinned(row, reader)
        case .excluded: row.isExcluded
        case .unlisted: row.unlisted != nil
        }
    }

    /// Documents whose text has these words, as of the start of this search or update.
    package mutating func inodes(withText text: String) -> Set<InodeID> {
        if let known = texts[text] { return known }
        let found = surroundings.withText(text)
        texts[text] = found
        return found
    }

    /// Call it before all is looked at again.
    package mutating func forgetTexts() { texts = [:] }

    // MARK: Properties outside the row

    /// Relative to the mount point; nil: in no folder (any more).
    private mutating func path(of row: SearchRow, _ reader: Catalog.Reader) throws -> [UInt8]? {
        let names = (row.unlisted ?? []).map(\.bytes) + [row.name.bytes]
        return try folders.path(of: Array(names.joined(separator: [UInt8(ascii: "/")])), in: row.folder, reader)
    }

    private mutating func type(of row: SearchRow) -> UniformType {
        switch row.kind {
        case .folder: Self.folder
        case .link: Self.link
        case .document: types.type(of: row.name.string)
        default: .item
        }
    }

    private func isDownloading(_ row: SearchRow) -> Bool {
        row.kind == .document && !row.isWhole && surroundings.isDownloading(row.inode)
    }

    private func failure(of row: SearchRow) -> String? {
        row.failure ?? (row.isWhole ? nil : surroundings.downloadFailure(row.inode))
    }

    private mutating func isPinned(_ row: SearchRow, _ reader: Catalog.Reader) throws -> Bool {
        if row.isPinned { return true }
        return try folders.isPinned(row.folder, reader)
    }

    private mutating func owner(_ uid: UInt32) -> String? {
        if let known = owners[uid] { return known }
        let name = UserNames.name(of: uid)
        owners[uid] = .some(name)
        return name
    }

    /// The tags of freedesktop.org's programs: separated by commas.
    ///
    /// Source: freedesktop.org, *CommonExtendedAttributes*.
    private static func tags(of inode: InodeID, _ reader: Catalog.Reader) throws -> [String] {
        guard let value = try reader.extendedAttribute(Array("user.xdg.tags".utf8), of: inode) else { return [] }
        return String(decoding: value, as: UTF8.self).split(separator: ",").map {
            $0.trimmingCharacters(in: .whitespaces)
        }.filter { !$0.isEmpty }
    }

    /// The number of a user's name, or a number as text; nil: there is no such user.
    package static func userNumber(_ name: String) -> UInt32? {
        UserNames.number(of: name) ?? UInt32(name)
    }
}

extension SearchRow {
    /// Whether none of a document's bytes are here.
    package var isPlaceholder: Bool { !isWhole && bytesHere == 0 }
}
