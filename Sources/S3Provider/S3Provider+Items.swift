package import FileProvider
import Foundation
import HTTPTransport

/// Items as a bucket has them.
extension S3Provider {
    /// A document or a link.
    func item(_ path: String, _ head: S3Head) -> Item {
        item(path, head.object, head.metadata)
    }

    func item(_ path: String, _ object: S3Object, _ metadata: S3Metadata) -> Item {
        Item(
            identifier: S3Key.identifier(path), parentIdentifier: S3Key.identifier(S3Key.folder(of: path)),
            filename: S3Key.name(of: path), kind: .document, size: object.size,
            contentModificationDate: metadata.modified ?? FileTime(seconds: object.modified.seconds),
            posixPermissions: metadata.permissions,
            version: ItemVersion(
                content: S3Version.content(object.entityTag), metadata: S3Version.metadata(object, metadata)),
            extendedAttributes: metadata.attributes,
            capabilities: isReadOnly ? .readOnly : .all)
    }

    /// A document or a link, whose target is the object's contents (s3fs).
    func item(asking path: String, _ head: S3Head) async throws(FileProviderError) -> Item {
        var item = item(path, head)
        guard head.metadata.isSymbolicLink, (1...4_095).contains(head.object.size) else { return item }
        let request = S3Client.Request(
            method: "GET", key: key(path), headers: [("If-Match", "\"\(head.object.entityTag)\"")], retries: .always)
        let outcome = try await client.exchange(request) { reply -> [UInt8] in try await reply.prefix(4_096) }
        guard case .success(let target) = outcome, Int64(target.count) == head.object.size, !target.contains(0) else {
            return item
        }
        item.kind = .symbolicLink(target: target)
        item.size = 0
        item.extendedAttributes = nil
        return item
    }

    /// A folder. A bucket has no date for one.
    func folderItem(_ path: String) -> Item {
        Item(
            identifier: S3Key.identifier(path), parentIdentifier: S3Key.identifier(S3Key.folder(of: path)),
            filename: path.isEmpty ? Filename(address.bucket) : S3Key.name(of: path), kind: .folder,
            contentModificationDate: Self.noDate,
            version: ItemVersion(content: ContentVersion("folder"), metadata: MetadataVersion("folder")),
            capabilities: isReadOnly ? .readOnly : .all)
    }

    /// 2000-01-01, as in rclone.
    static let noDate = FileTime(seconds: 946_684_800)

    package func providePlaceholder(for identifier: ItemIdentifier) async throws(FileProviderError) -> Item {
        let path = S3Key.path(identifier)
        if S3Key.isFolder(identifier) {
            if identifier == .rootContainer {
                // (Its answer tells of a bucket that is not there.)
                _ = try await client.list(address.prefix, limit: 1)
                return folderItem("")
            }
            guard try await isFolder(path) else { throw gone(path) }
            return folderItem(path)
        }
        guard let head = try await client.head(key(path)) else { throw gone(path) }
        return try await item(asking: path, head)
    }

    /// Whether an object has a key in this folder, or the folder's own.
    func isFolder(_ path: String) async throws(FileProviderError) -> Bool {
        if path.isEmpty { return true }
        let listing = try await client.list(key(path), isFlat: true, limit: 1)
        if !listing.objects.isEmpty || !listing.unreadable.isEmpty || listing.next != nil { return true }
        if let known = conditions.known, !known.hasFolders { return false }
        // (SeaweedFS has folders of its own: one that became empty stays, without a marker.)
        return try await client.head(key(path)) != nil
    }

    // MARK: Listing

    package func enumerateItems(
        in folder: ItemIdentifier, startingAt page: Page?
    ) async throws(FileProviderError) -> ItemPage {
        let path = S3Key.path(folder)
        guard S3Key.isFolder(path) else { throw gone(path) }
        let start = key(path)
        let token = page.map { String(decoding: $0.bytes, as: UTF8.self) }
        let listing = try await client.list(start, from: token)
        var leftOut = listing.unreadable.map {
            LeftOutItem(filename: Filename($0), reason: "the server's entry for it cannot be read")
        }
        var marks = listing.objects
        if token != nil || listing.next != nil {
            // (Other parts of the listing may have them.)
            marks += try await client.list(start + S3Key.Reserved.start).objects
        }
        let hidden = try await hiddenFolders(marks)
        var isThere = token != nil || path.isEmpty
        var items: [Item] = []
        var names: Set<Filename> = []
        for prefix in listing.prefixes where prefix.utf8.starts(with: start.utf8) {
            isThere = true
            let rest = String(decoding: prefix.utf8.dropFirst(start.utf8.count), as: UTF8.self)
            do throws(S3Key.Unusable) { try S3Key.check(rest) } catch {
                leftOut.append(LeftOutItem(filename: error.name, reason: error.reason))
                continue
            }
            let name = S3Key.name(of: rest)
            if S3Key.Reserved.contains(name) { continue }
            names.insert(name)
            if hidden.contains(Array(prefix.utf8)) { continue }
            items.append(folderItem(path + rest))
        }
        var documents: [(path: String, object: S3Object)] = []
        for object in listing.objects where object.key.utf8.starts(with: start.utf8) {
            isThere = true
            let rest = String(decoding: object.key.utf8.dropFirst(start.utf8.count), as: UTF8.self)
            if rest.isEmpty {
                // The folder's own marker, or, on web sites, a page.
                if object.size > 0 {
                    leftOut.append(
                        LeftOutItem(
                            filename: Filename("/"),
                            reason: "the folder's own key has contents, which a folder cannot show"))
                }
                continue
            }
            do throws(S3Key.Unusable) { try S3Key.check(rest) } catch {
                leftOut.append(LeftOutItem(filename: error.name, reason: error.reason))
                continue
            }
            let name = S3Key.name(of: rest)
            if S3Key.Reserved.contains(name) { continue }
            if names.contains(name) {
                leftOut.append(
                    LeftOutItem(filename: name, reason: "a folder has the same name; rename one of them in the bucket"))
                continue
            }
            documents.append((path + rest, object))
        }
        try await leaveOut(&documents, &leftOut, beyond: listing)
        items += try await described(documents)
        guard isThere else { throw gone(path) }
        return ItemPage(items: items, nextPage: listing.next.map { Page(bytes: $0.utf8) }, leftOut: leftOut)
    }

    /// Leaves out documents whose names belong to folders as well, which only a later part of the listing has: between
    /// `a` and `a/` other keys may lie, as `a.txt`.
    private func leaveOut(
        _ documents: inout [(path: String, object: S3Object)], _ leftOut: inout [LeftOutItem],
        beyond listing: S3Listing
    ) async throws(FileProviderError) {
        guard listing.next != nil else { return }
        let keys = listing.objects.map(\.key) + listing.prefixes
        guard let last = keys.max(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) else { return }
        var rest: [(path: String, object: S3Object)] = []
        for document in documents {
            let folder = document.object.key + "/"
            guard last.utf8.lexicographicallyPrecedes(folder.utf8), last.utf8.starts(with: document.object.key.utf8),
                try await isFolder(document.path + "/")
            else {
                rest.append(document)
                continue
            }
            leftOut.append(
                LeftOutItem(
                    filename: S3Key.name(of: document.path),
                    reason: "a folder has the same name; rename one of them in the bucket"))
        }
        documents = rest
    }

    /// Documents of a listing, with their metadata: as the catalog knows them, or asked for.
    private func described(_ listed: [(path: String, object: S3Object)]) async throws(FileProviderError) -> [Item] {
        if listed.isEmpty { return [] }
        let known = try await catalog?.knownItems(listed.map { S3Key.identifier($0.path) }) ?? []
        let versions = Dictionary(known.map { ($0.identifier, $0) }, uniquingKeysWith: { first, _ in first })
        let now = FileTime.present.seconds
        var items: [Item] = []
        var unknown: [(path: String, object: S3Object)] = []
        for (path, object) in listed {
            if let metadata = Self.metadata(of: object, versions[S3Key.identifier(path)], now: now) {
                items.append(item(path, object, metadata))
            } else {
                unknown.append((path, object))
            }
        }
        items += try await heads(unknown)
        return items
    }

    /// What the catalog has of an object; nil: it has another object, or this one cannot be told from one that was made
    /// in the same second.
    private static func metadata(of object: S3Object, _ known: KnownItem?, now: Int64) -> S3Metadata? {
        guard let known, !known.isFolder, known.contentVersion == S3Version.content(object.entityTag),
            let version = S3Version(known.metadataVersion), !version.hasMore,
            version.stored == object.modified.seconds, object.modified.seconds < now - 60
        else { return nil }
        var metadata = S3Metadata()
        metadata.modified = version.modified
        metadata.mode = version.mode
        return metadata
    }

    private static let headsAtOnce = 32

    /// The documents of a listing that are still there.
    private func heads(
        _ documents: [(path: String, object: S3Object)]
    ) async throws(FileProviderError) -> [Item] {
        let result: Result<[Item], FileProviderError> = await withTaskGroup(
            of: Result<Item?, FileProviderError>.self
        ) { group in
            var items: [Item] = []
            var failure: FileProviderError?
            var rest = documents[...]
            for (path, object) in rest.prefix(Self.headsAtOnce) {
                group.addTask { await self.find(path, object) }
            }
            rest = rest.dropFirst(Self.headsAtOnce)
            while let found = await group.next() {
                switch found {
                case .success(let item): if let item { items.append(item) }
                case .failure(let error):
                    failure = failure ?? error
                    rest = []
                }
                if let (path, object) = rest.popFirst() { group.addTask { await self.find(path, object) } }
            }
            if let failure { return .failure(failure) }
            return .success(items)
        }
        return try result.get()
    }

    /// Nil: the document is not there any more.
    private func find(_ path: String, _ object: S3Object) async -> Result<Item?, FileProviderError> {
        do throws(FileProviderError) {
            switch try await client.headOutcome(key(path)) {
            case .success(let head): return .success(try await item(asking: path, head))
            case .refused(let refusal):
                if refusal.status == 404 { return .success(nil) }
                // It cannot be asked for: another account's, or with a key of its owner's (SSE-C). The others can.
                guard [400, 403].contains(refusal.status) else { throw client.failure(refusal, key(path)) }
                return .success(item(path, object, S3Metadata()))
            }
        } catch { return .failure(error) }
    }
}
