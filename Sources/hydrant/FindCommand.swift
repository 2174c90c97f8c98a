import ArgumentParser
import ControlAPI
import Foundation
import MetadataQuery
import QueryLanguage
import UniformTypes

struct FindCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "find", abstract: "Find documents in mounts, whether or not they are on this machine.",
        discussion: """
            Downloads nothing. A word matches a part of a name, ignoring case and accents. All conditions must hold, \
            unless OR stands between them; - or NOT negates a condition; parentheses group.

              name:report name:=a.txt name:*.tex    part of a name, a whole name, a pattern
              path:2024/                            part of the path in the mount
              kind:pdf kind:image kind:folder       an extension, a group, a MIME type or a type (public.image)
              size:>1M size:1k..2M                  bytes; k, M, G, T
              modified:<7d created:2024-05 accessed:>1y   an age (h, d, w, m, y), or a day, month or year
              owner:alice tag:urgent                a user; a tag (user.xdg.tags)
              state:placeholder                     partial, downloaded, downloading, uploading, error, conflict, pinned, \
              excluded, unlisted

            Where the store has a search of its own (Nextcloud), its hits in folders that nobody has listed yet are \
            included: state:unlisted.

            Examples:
              hydrant find kind:pdf 'size:>1M' 'modified:<7d' report
              hydrant find state:error --in ~/Documents
              hydrant find -0 'kind:image' state:placeholder | xargs -0 hydrant download
              hydrant find --live kind:pdf
              hydrant find --shallow --in ~/Documents state:uploading
            """)

    @Argument(help: "A query; default: everything.")
    var query: [String] = []

    @Option(
        name: .customLong("in"), parsing: .singleValue,
        help: ArgumentHelp(
            "A mount or folder to search; may be repeated; default: all mounts.", valueName: "path"),
        completion: .directory)
    var scopes: [String] = []

    @Flag(help: "Search only the items directly in the folders, and none further below.")
    var shallow = false

    @Option(
        name: .customLong("references"),
        help: ArgumentHelp(
            "A folder of reference documents; search the documents that they stand for.", valueName: "folder"),
        completion: .directory)
    var references: String?

    @Option(
        help: ArgumentHelp("The container to search (hydrant containers).", valueName: "identifier"))
    var container: String?

    @Flag(help: "Go on until interrupted: + a new match, ~ a changed one, - no longer a match.")
    var live = false

    @Flag(name: [.customShort("0"), .customLong("null")], help: "End each path with a NUL, for xargs -0.")
    var isNullTerminated = false

    @Option(help: ArgumentHelp("The attribute to sort by: \(Self.sortNames).", valueName: "attribute"))
    var sort: String?

    @Flag(help: "Sort in descending order.")
    var reverse = false

    @Option(help: ArgumentHelp("The number of results at most.", valueName: "count"))
    var limit: Int?

    @Option(help: ArgumentHelp("With --live: seconds between reports of changes.", valueName: "seconds"))
    var interval = 1.0

    @Flag(
        help: """
            Print an object a line: change (added, changed, removed), path, kind, type, size, modified, created, \
            accessed (seconds since 1970), owner, state, bytesDownloaded, conditions, identifier, error, tags, \
            reference, container; every key is always there.
            """)
    var json = false

    private static let sortNames = MetadataAttribute.allCases.map(\.rawValue).joined(separator: ", ")

    func validate() throws {
        if live && (sort != nil || reverse || limit != nil) {
            throw ValidationError("--live reports changes as they come, and excludes --sort, --reverse and --limit")
        }
        if json && isNullTerminated { throw ValidationError("--json and -0 exclude each other") }
        if let sort, MetadataAttribute(rawValue: sort) == nil {
            throw ValidationError("--sort \(sort): choose one of \(Self.sortNames)")
        }
        if let limit, limit < 0 { throw ValidationError("--limit \(limit): choose 0 or more") }
        guard QueryRequest.intervals.contains(interval) else {
            throw ValidationError("--interval \(interval): choose 0.02 to 3600 seconds")
        }
    }

    func run() async throws {
        let predicate: QueryPredicate
        do { predicate = try QueryPredicate(text: query.joined(separator: " ")) } catch {
            throw fail("\(error.message); hydrant find --help lists the conditions", CommandExit.usage)
        }
        var places = scopes.map { SearchScope.items(at: ByteText.url($0)) }
        if let references { places.append(.externalDocuments(referencedIn: ByteText.url(references))) }
        if let container { places.append(.container(identifier: container)) }
        if places.isEmpty {
            _ = MountTable.ownDomains().isEmpty ? try MountedPath.mountPoint(nil) : ""
            places = [.allDomains]
        }
        let attribute = sort.flatMap { MetadataAttribute(rawValue: $0) }
        let query = MetadataQuery(
            predicate, in: places, sortedBy: attribute.map { [MetadataSort($0, ascending: !reverse)] } ?? [],
            isLive: live)
        query.wantsTags = json
        query.isShallow = shallow
        query.batchingInterval = .seconds(interval)
        let notifications = query.notifications()
        do { try await query.start() } catch { throw fail("\(error)") }
        var unavailable: [String] = []
        var isFirst = true
        for await notification in notifications {
            switch notification {
            case .gatheringProgress: break
            case .finishedGathering:
                guard isFirst else { break }
                isFirst = false
                try show(attribute == nil && reverse ? query.results.reversed() : query.results)
                warnOfUnlistedResults(query.results.count { $0.conditions.contains(.unlisted) })
                if query.unlistedFolderCount > 0 { warnOfUnlistedFolders(query.unlistedFolderCount) }
            case .updated(let added, let changed, let removed):
                if isFirst { break }
                try print(removed, "-", "removed")
                try print(changed, "~", "changed")
                try print(added, "+", "added")
            case .domainUnavailable(_, let error):
                warn(error.message)
                unavailable.append(error.message)
            }
        }
        if !unavailable.isEmpty { throw ExitCode(CommandExit.unavailable) }
    }

    private func show(_ results: [MetadataItem]) throws {
        try print(Array(results.prefix(limit ?? .max)), live ? "+" : nil, "added")
    }

    private func warnOfUnlistedResults(_ count: Int) {
        if count == 0 { return }
        let what = count == 1 ? "1 of these was" : "\(count) of these were"
        warn("\(what) found by the store's own search, in folders that nobody has listed yet (state:unlisted)")
    }

    private func warnOfUnlistedFolders(_ count: Int) {
        let what = count == 1 ? "1 folder was" : "\(count) folders were"
        warn("\(what) not searched, because never listed")
    }

    private func print(_ items: [MetadataItem], _ sign: String?, _ change: String) throws {
        for start in stride(from: 0, to: items.count, by: 1_000) {
            let part = items[start..<min(start + 1_000, items.count)]
            if json {
                for item in part { try StandardOutput.write(Output.json(Line(item, change), oneLine: true)) }
                continue
            }
            let paths = part.map { (sign.map { $0 + " " } ?? "") + ByteText.text(of: $0.url) }
            try isNullTerminated
                ? StandardOutput.write(nullTerminated: paths) : StandardOutput.write(paths: paths)
        }
    }

    private struct Line: Encodable {
        let item: MetadataItem
        let change: String

        init(_ item: MetadataItem, _ change: String) { (self.item, self.change) = (item, change) }

        private enum CodingKeys: String, CodingKey {
            case change, path, kind, type, size, modified, created, accessed, owner, state, bytesDownloaded, conditions
            case identifier, error, tags, reference, container
        }

        // By hand, to keep the keys of nil values.
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(change, forKey: .change)
            try container.encode(ByteText.shown(ByteText.text(of: item.url)), forKey: .path)
            try container.encode(item.kind, forKey: .kind)
            try container.encode(item.contentType.identifier, forKey: .type)
            try container.encode(item.size, forKey: .size)
            try container.encode(item.contentModificationDate.timeIntervalSince1970, forKey: .modified)
            try container.encode(item.creationDate.timeIntervalSince1970, forKey: .created)
            try container.encode(item.lastUsedDate.timeIntervalSince1970, forKey: .accessed)
            try container.encode(item.owner, forKey: .owner)
            try container.encode(item.download, forKey: .state)
            try container.encode(item.bytesDownloaded, forKey: .bytesDownloaded)
            try container.encode(item.conditions.map(\.rawValue).sorted(), forKey: .conditions)
            try container.encode(item.identifier, forKey: .identifier)
            try container.encode(item.lastError, forKey: .error)
            try container.encode(item.tags, forKey: .tags)
            try container.encode(item.external?.referenceURL.path(percentEncoded: false), forKey: .reference)
            try container.encode(item.external?.containerDisplayName, forKey: .container)
        }
    }
}
