import FileProvider
import Foundation

extension BrokenProvider {
    /// Rules 1101 to 1108.
    static let historians: [BrokenProvider] = [
        BrokenProvider(1101, "Renamed items are left out.") {
            let moved = Memo<Set<ItemIdentifier>>([])
            $0.move = { base, identifier, folder, name, version async throws(FileProviderError) in
                let item = try await base.moveItem(identifier, to: folder, as: name, baseVersion: version)
                moved { _ = $0.insert(identifier) }
                return item
            }
            $0.changes = { base, anchor async throws(FileProviderError) in
                var page = try await base.enumerateChanges(from: anchor)
                let moved = moved { $0 }
                page.updated.removeAll { moved.contains($0.identifier) }
                return page
            }
        },
        BrokenProvider(1102, "Deleted items are left out.") {
            $0.changes = { base, anchor async throws(FileProviderError) in
                var page = try await base.enumerateChanges(from: anchor)
                page.deleted = []
                return page
            }
        },
        BrokenProvider(1103, "The last page of changes returns the anchor that was passed in.") {
            $0.changes = { base, anchor async throws(FileProviderError) in
                var page = try await base.enumerateChanges(from: anchor)
                if !page.hasMore { page.anchor = anchor }
                return page
            }
        },
        BrokenProvider(1104, "No page says that there are more changes.") {
            $0.changes = { base, anchor async throws(FileProviderError) in
                var page = try await base.enumerateChanges(from: anchor)
                page.hasMore = false
                return page
            }
        },
        BrokenProvider(1105, "Each change is returned only once, to any client.") {
            let returned = Memo<Set<String>>([])
            $0.changes = { base, anchor async throws(FileProviderError) in
                var page = try await base.enumerateChanges(from: anchor)
                page.updated = page.updated.filter { item in
                    returned { $0.insert("\(item.identifier) \(item.version)").inserted }
                }
                return page
            }
        },
        BrokenProvider(1106, "An anchor that was never given has no changes after it.") {
            $0.changes = { base, anchor async throws(FileProviderError) in
                do throws(FileProviderError) {
                    return try await base.enumerateChanges(from: anchor)
                } catch {
                    return ChangePage(anchor: anchor)
                }
            }
        },
        BrokenProvider(1107, "An anchor has more than 64 KiB.") {
            let padding = [UInt8](repeating: 0x20, count: 64 << 10)
            let long: @Sendable (SyncAnchor) -> SyncAnchor = { SyncAnchor(bytes: $0.bytes + padding) }
            $0.anchor = { base async throws(FileProviderError) in long(try await base.currentSyncAnchor()) }
            $0.changes = { base, anchor async throws(FileProviderError) in
                let short = SyncAnchor(bytes: anchor.bytes.dropLast(padding.count))
                var page = try await base.enumerateChanges(from: short)
                page.anchor = long(page.anchor)
                return page
            }
        },
        BrokenProvider(1108, "Only changes made through this client are returned.") {
            $0.otherIsHonest = true
            let own = Memo<Set<ItemVersion>>([])
            $0.create = { base, template, contents async throws(FileProviderError) in
                let item = try await base.createItem(template, contents: contents)
                own { _ = $0.insert(item.version) }
                return item
            }
            $0.change = { base, identifier, contents, metadata, version async throws(FileProviderError) in
                let item = try await base.itemChanged(
                    identifier, contents: contents, metadata: metadata, baseVersion: version)
                own { _ = $0.insert(item.version) }
                return item
            }
            $0.move = { base, identifier, folder, name, version async throws(FileProviderError) in
                let item = try await base.moveItem(identifier, to: folder, as: name, baseVersion: version)
                own { _ = $0.insert(item.version) }
                return item
            }
            $0.changes = { base, anchor async throws(FileProviderError) in
                var page = try await base.enumerateChanges(from: anchor)
                let own = own { $0 }
                page.updated = page.updated.filter { own.contains($0.version) }
                return page
            }
        },
    ]

    /// Rule 1201.
    static let allowers: [BrokenProvider] = [
        BrokenProvider(1201, "An item that must not be deleted is deleted, from any version.", with: .items) {
            $0.delete = { base, identifier, version async throws(FileProviderError) in
                guard try base.now(identifier).capabilities.contains(.deleting) else { return base.uproot(identifier) }
                try await base.deleteItem(identifier, baseVersion: version)
            }
        }
    ]

    /// Rules 1301 to 1306.
    static let copiers: [BrokenProvider] = [
        BrokenProvider(1301, "A copy is made beside the original, in whichever folder it was requested.") {
            $0.copy = { base, identifier, version, template async throws(FileProviderError) in
                var template = template
                template.parentIdentifier = try base.now(identifier).parentIdentifier
                return try await base.copyItem(identifier, version: version, as: template)
            }
        },
        BrokenProvider(1302, "The item returned from a copy lacks a date.") {
            $0.copy = { base, identifier, version, template async throws(FileProviderError) in
                var item = try await base.copyItem(identifier, version: version, as: template)
                item.creationDate = nil
                return item
            }
        },
        BrokenProvider(1303, "A copy ignores the requested version and copies the current one.") {
            $0.copy = { base, identifier, _, template async throws(FileProviderError) in
                let now = try base.now(identifier).version.content
                return try await base.copyItem(identifier, version: now, as: template)
            }
        },
        BrokenProvider(1304, "A copy replaces the item that has the name.") {
            $0.copy = { base, identifier, version, template async throws(FileProviderError) in
                if let old = base.find(template.filename, in: template.parentIdentifier) { base.uproot(old.identifier) }
                return try await base.copyItem(identifier, version: version, as: template)
            }
        },
        BrokenProvider(1305, "Copy and original share their contents: a change of one changes both.") {
            let originals = Memo<[ItemIdentifier: ItemIdentifier]>([:])
            $0.copy = { base, identifier, version, template async throws(FileProviderError) in
                let item = try await base.copyItem(identifier, version: version, as: template)
                originals { $0[item.identifier] = identifier }
                return item
            }
            $0.change = { base, identifier, contents, metadata, version async throws(FileProviderError) in
                let item = try await base.itemChanged(
                    identifier, contents: contents, metadata: metadata, baseVersion: version)
                guard let original = originals({ $0[identifier] }) else { return item }
                _ = try await base.itemChanged(
                    original, contents: contents, metadata: metadata, baseVersion: try base.now(original).version)
                return item
            }
        },
        BrokenProvider(1306, "A copy of a deleted document fails with an error that may pass.") {
            $0.copy = { base, identifier, version, template async throws(FileProviderError) in
                guard (try? base.now(identifier)) != nil else {
                    throw FileProviderError(.cannotSynchronize, "404 Not Found")
                }
                return try await base.copyItem(identifier, version: version, as: template)
            }
        },
    ]

    /// Rules 1401 to 1408.
    static let trashers: [BrokenProvider] = [
        BrokenProvider(1401, "A trashed folder leaves a document under its name.") {
            $0.trash = { base, identifier, version async throws(FileProviderError) in
                let before = try base.now(identifier)
                try await base.trashItem(identifier, baseVersion: version)
                if before.kind.isFolder { base.plant(before.filename, in: before.parentIdentifier) }
            }
        },
        BrokenProvider(1402, "A document is put into the trash despite newer contents.") {
            $0.trash = { base, identifier, _ async throws(FileProviderError) in
                try await base.trashItem(identifier, baseVersion: try base.now(identifier).version)
            }
        },
        BrokenProvider(1403, "A folder is put into the trash with its contents.") {
            $0.trash = { base, identifier, version async throws(FileProviderError) in
                for child in base.items(in: identifier) { base.uproot(child.identifier) }
                try await base.trashItem(identifier, baseVersion: version)
            }
        },
        BrokenProvider(1404, "Trashing a deleted item succeeds.") {
            $0.trash = { base, identifier, version async throws(FileProviderError) in
                guard (try? base.now(identifier)) != nil else { return }
                try await base.trashItem(identifier, baseVersion: version)
            }
        },
        BrokenProvider(1405, "The trash says that every document is empty.") {
            $0.trashed = { base async throws(FileProviderError) in
                try await base.trashedItems().map { entry in
                    var entry = entry
                    entry.size = 0
                    return entry
                }
            }
        },
        BrokenProvider(1406, "The path of a restored item leads nowhere.") {
            $0.restore = { base, trashed async throws(FileProviderError) in
                try await base.restoreTrashedItem(trashed).map { $0.dropLast() + ["elsewhere"] }
            }
        },
        BrokenProvider(1407, "A restored item replaces the item that has its name.") {
            $0.restore = { base, trashed async throws(FileProviderError) in
                let entry = try await base.trashedItems().first { $0.identifier == trashed }
                var folder = ItemIdentifier.rootContainer
                for name in entry?.path.dropLast() ?? [] { folder = base.find(name, in: folder)?.identifier ?? folder }
                if let name = entry?.path.last, let other = base.find(name, in: folder) {
                    base.uproot(other.identifier)
                }
                return try await base.restoreTrashedItem(trashed)
            }
        },
        BrokenProvider(1408, "Restoring an item that is not in the trash succeeds.") {
            $0.restore = { base, trashed async throws(FileProviderError) in
                guard try await base.trashedItems().contains(where: { $0.identifier == trashed }) else { return nil }
                return try await base.restoreTrashedItem(trashed)
            }
        },
    ]

    /// Rules 1501 to 1511.
    static let painters: [BrokenProvider] = [
        BrokenProvider(1501, "A thumbnail is a GIF.") {
            $0.thumbnail = { base, identifier, version, size async throws(FileProviderError) in
                let thumbnail = try await base.thumbnail(of: identifier, version: version, size: size)
                return thumbnail.map { _ in Thumbnail(bytes: Array("GIF89a".utf8)) }
            }
        },
        BrokenProvider(1502, "A thumbnail has the size of the picture.") {
            $0.thumbnail = { base, identifier, version, _ async throws(FileProviderError) in
                try await base.thumbnail(of: identifier, version: version, size: .max)
            }
        },
        BrokenProvider(1503, "The thumbnail shows the newest contents, whichever version is requested.") {
            $0.thumbnail = { base, identifier, _, size async throws(FileProviderError) in
                let now = try base.now(identifier).version.content
                return try await base.thumbnail(of: identifier, version: now, size: size)
            }
        },
        BrokenProvider(1504, "A deleted document has no thumbnail instead of an error.") {
            $0.thumbnail = { base, identifier, version, size async throws(FileProviderError) in
                guard (try? base.now(identifier)) != nil else { return nil }
                return try await base.thumbnail(of: identifier, version: version, size: size)
            }
        },
        BrokenProvider(1505, "A thumbnail to keep is dropped.") {
            $0.keepThumbnail = { base, _, identifier, version async throws(FileProviderError) in
                guard try base.now(identifier).version.content == version else {
                    throw FileProviderError(.versionMismatch, "the document has other contents by now")
                }
            }
        },
        BrokenProvider(1506, "The first thumbnail stays for ever.") {
            $0.keepThumbnail = { base, thumbnail, identifier, version async throws(FileProviderError) in
                if try await base.thumbnail(of: identifier, version: version, size: 1_024) != nil { return }
                try await base.keepThumbnail(thumbnail, of: identifier, version: version)
            }
        },
        BrokenProvider(1507, "A kept thumbnail is stored under the document's name.") {
            let kept = Memo([Filename: Thumbnail]())
            $0.keepThumbnail = { base, thumbnail, identifier, version async throws(FileProviderError) in
                try await base.keepThumbnail(thumbnail, of: identifier, version: version)
                let name = try base.now(identifier).filename
                kept { $0[name] = thumbnail }
            }
            $0.thumbnail = { base, identifier, version, size async throws(FileProviderError) in
                let made = try await base.thumbnail(of: identifier, version: version, size: size)
                let name = try base.now(identifier).filename
                return kept { $0[name] } == nil ? nil : made
            }
        },
        BrokenProvider(1508, "A thumbnail stays when the contents change.") {
            let kept = Memo([ItemIdentifier: Thumbnail]())
            $0.keepThumbnail = { base, thumbnail, identifier, version async throws(FileProviderError) in
                try await base.keepThumbnail(thumbnail, of: identifier, version: version)
                kept { $0[identifier] = thumbnail }
            }
            $0.thumbnail = { base, identifier, version, size async throws(FileProviderError) in
                let made = try await base.thumbnail(of: identifier, version: version, size: size)
                return kept { $0[identifier] } ?? made
            }
        },
        BrokenProvider(1509, "A thumbnail of any version is kept.") {
            $0.keepThumbnail = { base, thumbnail, identifier, _ async throws(FileProviderError) in
                try await base.keepThumbnail(
                    thumbnail, of: identifier, version: try base.now(identifier).version.content)
            }
        },
        BrokenProvider(1510, "A kept thumbnail is a document beside its document.") {
            $0.keepThumbnail = { base, thumbnail, identifier, version async throws(FileProviderError) in
                try await base.keepThumbnail(thumbnail, of: identifier, version: version)
                base.plant("thumbnail.png", in: try base.now(identifier).parentIdentifier)
            }
        },
        BrokenProvider(1511, "Keeping a thumbnail of a deleted document succeeds.") {
            $0.keepThumbnail = { base, thumbnail, identifier, version async throws(FileProviderError) in
                guard (try? base.now(identifier)) != nil else { return }
                try await base.keepThumbnail(thumbnail, of: identifier, version: version)
            }
        },
    ]

    /// Rule 1601.
    static let accountants: [BrokenProvider] = [
        BrokenProvider(1601, "A full store has a negative number of bytes left.") {
            $0.quota = { _ async throws(FileProviderError) in StoreQuota(used: 10, total: -1) }
        }
    ]

    /// Rules 1801 to 1806.
    static let finders: [BrokenProvider] = [
        BrokenProvider(1801, "A search distinguishes capital letters.") {
            $0.search = { base, search async throws(FileProviderError) in
                var found = try await base.search(search)
                found.findings.removeAll { finding in
                    !search.nameParts.allSatisfy { finding.path.last?.string.contains($0) ?? false }
                }
                return found
            }
        },
        BrokenProvider(1802, "A search returns every item with a path in the topmost folder.") {
            $0.search = { base, search async throws(FileProviderError) in
                var found = try await base.search(search)
                for index in found.findings.indices {
                    found.findings[index].path = found.findings[index].path.suffix(1)
                }
                return found
            }
        },
        BrokenProvider(1803, "A search ignores the size.") {
            $0.search = { base, search async throws(FileProviderError) in
                var search = search
                search.size = nil
                return try await base.search(search)
            }
        },
        BrokenProvider(1804, "A search repeats earlier findings.") { tampering in
            let index = Memo<[StoreFinding]>([])
            tampering.delete = { base, identifier, version async throws(FileProviderError) in
                let name = try base.now(identifier).filename
                let found = try await base.search(StoreSearch(nameParts: [name.string]))
                index { $0 += found.findings }
                try await base.deleteItem(identifier, baseVersion: version)
            }
            tampering.search = { base, search async throws(FileProviderError) in
                var found = try await base.search(search)
                found.findings += index { all in
                    all.filter { finding in
                        search.nameParts.contains { finding.path.last?.string.contains($0) ?? false }
                    }
                }
                return found
            }
        },
        BrokenProvider(1805, "A search always says that its findings are complete.") {
            $0.search = { base, search async throws(FileProviderError) in
                var found = try await base.search(search)
                found.isComplete = true
                return found
            }
        },
        BrokenProvider(1806, "A search treats an extension as a part of the name.") {
            $0.search = { base, search async throws(FileProviderError) in
                var search = search
                search.nameParts += search.filenameExtensions
                search.filenameExtensions = []
                return try await base.search(search)
            }
        },
    ]

    /// Rules 1701 to 1704.
    static let guides: [BrokenProvider] = [
        BrokenProvider(1701, "The URL of a folder is that of its parent.") {
            $0.url = { identifier, domain async throws(FileProviderError) in
                let url = try await domain.urlForItem(withCatalogIdentifier: identifier)
                return url.lastPathComponent == "folder" ? url.deletingLastPathComponent() : url
            }
        },
        BrokenProvider(1702, "The persistent identifier is the relative path, as in iOS 8.") {
            $0.persistentIdentifier = { url, domain async throws(FileProviderError) in
                let path = try domain.relativePath(of: url)
                return ItemIdentifier(path.map(\.string).joined(separator: "/"))
            }
            $0.url = { identifier, domain async throws(FileProviderError) in
                let path = identifier.rawValue.split(separator: "/").map { Filename(String($0)) }
                let url = domain.url(relativePath: path)
                _ = try await domain.catalogIdentifierForItem(at: url)
                return url
            }
        },
        BrokenProvider(1703, "The URL of a deleted item is that of the topmost folder.") {
            $0.url = { identifier, domain async throws(FileProviderError) in
                do throws(FileProviderError) {
                    return try await domain.urlForItem(withCatalogIdentifier: identifier)
                } catch {
                    return domain.documentStorageURL
                }
            }
        },
        BrokenProvider(1704, "Only items of the store have a persistent identifier.") {
            $0.persistentIdentifier = { url, domain async throws(FileProviderError) in
                try await domain.itemIdentifier(at: url)
            }
            $0.url = { identifier, domain async throws(FileProviderError) in try await domain.url(of: identifier) }
        },
    ]
}
