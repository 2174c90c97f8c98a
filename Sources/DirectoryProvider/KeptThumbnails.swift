import CLinux
import FileProvider
import Glibc
import Hashing
import Logging
import Surroundings

/// Names in the store that are the provider's own, and not items.
enum OwnName {
    static func isOurs(_ name: [UInt8]) -> Bool { name == KeptThumbnails.folder || TemporaryName.kind(of: name) != nil }
}

/// Pictures that programs gave documents: PNG files in a folder beside the documents, so that pictures follow their
/// folder through moves and deletions, and only a user who can reach the document can see its picture. A picture's name
/// is made of its document's name, size and date: so every machine with the directory finds it, whichever inode numbers
/// it sees, and a picture of old contents is not found. A document that another program renames, or moves to another
/// folder, loses its picture.
enum KeptThumbnails {
    static let folder = Array(".hydrant-thumbnails".utf8)
    private static let suffix = Array(".png".utf8)

    /// The start of the names of a document's pictures.
    static func prefix(_ name: [UInt8]) -> [UInt8] {
        Array((SHA256.hash(data: name).prefix(16).hexadecimal + ".").utf8)
    }

    static func name(_ name: [UInt8], _ status: FileStatus) -> [UInt8] {
        prefix(name) + Array("\(status.size).\(status.modified)".utf8) + suffix
    }

    static func isPicture(_ name: [UInt8]) -> Bool { name.count > 36 && name.suffix(4).elementsEqual(suffix) }
}

extension Store {
    /// Nil: this folder has no pictures.
    private func thumbnails(of folder: Folder) throws(FileProviderError) -> Folder? {
        try open(KeptThumbnails.folder, in: folder)
    }

    /// The document's picture; nil: none, or one of other contents.
    func keptThumbnail(of entry: Entry) throws(FileProviderError) -> [UInt8]? {
        guard let folder = try thumbnails(of: entry.folder) else { return nil }
        let name = KeptThumbnails.name(entry.name, entry.status)
        let file: Descriptor
        do throws(FileProviderError) { file = try folder.open(name, O_RDONLY) } catch {
            if error.saysAbsent { return nil }
            throw error
        }
        return try naming(folder.path(of: name)) { () throws(SystemError) -> [UInt8]? in
            let status = try file.status()
            guard status.kind == .document, status.size > 0, status.size <= Int64(Thumbnail.mostBytes) else {
                return nil
            }
            // For contents that changed while size and date stayed the same.
            if let racySince = entry.racySince, status.modified < racySince { return nil }
            return try file.read(at: 0, upTo: Int(status.size))
        }
    }

    /// A rename or deletion at the same time may remove the empty folder that was just made: the number of attempts.
    private static let tries = 10

    func keepThumbnail(_ bytes: [UInt8], of entry: Entry) throws(FileProviderError) {
        for _ in 1..<Self.tries {
            do throws(FileProviderError) { return try putThumbnail(bytes, of: entry) } catch {
                if !error.saysAbsent { throw error }
            }
        }
        try putThumbnail(bytes, of: entry)
    }

    private func putThumbnail(_ bytes: [UInt8], of entry: Entry) throws(FileProviderError) {
        let folder: Folder
        if let there = try thumbnails(of: entry.folder) {
            folder = there
        } else {
            folder = try makeThumbnails(in: entry.folder)
        }
        let draft = try Draft(in: folder)
        do throws(FileProviderError) {
            try naming(folder.path()) { () throws(SystemError) in try draft.descriptor.write(bytes, at: 0) }
            try dress(draft, as: entry)
            let name = KeptThumbnails.name(entry.name, entry.status)
            try forgetPictures(of: entry.name, in: folder, but: name)
            try folder.rename(draft.name, to: folder, as: name)
        } catch {
            draft.discard()
            throw error
        }
        try folder.sync()
    }

    /// Makes the picture readable for the users who can read the document.
    private func dress(_ draft: Draft, as entry: Entry) throws(FileProviderError) {
        let file = draft.descriptor.number
        // Only root may change the owner of a file; every user may change the group to one of their groups.
        if fchown(file, entry.status.owner, entry.status.group) != 0 { _ = fchown(file, .max, entry.status.group) }
        var mode = entry.status.permissions & 0o666 | 0o600
        // (With an access list these bits are its mask.)
        if try draft.status.group != entry.status.group || entry.accessList != nil { mode &= ~0o060 }
        try naming(draft.folder.path(of: draft.name)) { () throws(SystemError) in
            _ = try check("fchmod") { fchmod(file, mode_t(mode)) }
            try draft.descriptor.sync()
        }
    }

    private func makeThumbnails(in parent: Folder) throws(FileProviderError) -> Folder {
        let status = try naming(parent.path()) { () throws(SystemError) in try parent.descriptor.status() }
        var mode = status.permissions & 0o777 | 0o700
        // The folder has the group of its parent only if the parent has setgid.
        if status.permissions & 0o2000 == 0, status.group != getegid() { mode &= ~0o070 }
        let template = ItemTemplate(
            parentIdentifier: parent.identifier, filename: Filename(bytes: KeptThumbnails.folder), kind: .folder,
            contentModificationDate: FileTime(seconds: Int64(time(nil))), posixPermissions: mode)
        for _ in 0..<Self.tries {
            do throws(FileProviderError) {
                try make(template, Timestamp(template.contentModificationDate), in: parent)
            } catch {
                // Another program was faster.
                guard error.code == .filenameCollision else { throw error }
            }
            if let folder = try thumbnails(of: parent) { return folder }
            if let status = try parent.status(of: KeptThumbnails.folder), status.kind != .folder { break }
        }
        throw FileProviderError(
            .unsupported,
            "\(parent.path(of: KeptThumbnails.folder)): is not a folder; rename it to keep thumbnails here")
    }

    // MARK: Removal

    private func forgetPictures(
        of name: [UInt8], in folder: Folder, but kept: [UInt8]? = nil
    ) throws(FileProviderError) {
        let prefix = KeptThumbnails.prefix(name)
        for other in try folder.names() where other.starts(with: prefix) && other != kept {
            do throws(FileProviderError) { try folder.unlink(other) } catch { if !error.saysAbsent { throw error } }
        }
    }

    /// For a document that has other contents, or is gone. Best effort: a leftover is never found, and swept up later.
    func forgetThumbnails(of name: [UInt8], in parent: Folder) {
        guard let folder = try? thumbnails(of: parent) else { return }
        try? forgetPictures(of: name, in: folder)
        removeIfEmpty(parent)
    }

    /// For contents that were written again unchanged, perhaps with another date. Best effort.
    func keepThumbnail(of entry: Entry, at item: Item) {
        guard let folder = try? thumbnails(of: entry.folder), let now = try? entry.folder.status(of: entry.name),
            now.size == item.size, FileTime(now.modified) == item.contentModificationDate
        else { return forgetThumbnails(of: entry.name, in: entry.folder) }
        let (before, after) = (KeptThumbnails.name(entry.name, entry.status), KeptThumbnails.name(entry.name, now))
        if before != after { try? folder.rename(before, to: folder, as: after) }
        try? forgetPictures(of: entry.name, in: folder, but: after)
    }

    private func removeIfEmpty(_ parent: Folder) { try? parent.removeFolder(KeptThumbnails.folder) }

    /// For a document that was moved. Best effort: otherwise it loses its picture.
    func moveThumbnail(of entry: Entry, to parent: Folder, as name: [UInt8]) {
        guard entry.status.kind == .document, let old = try? thumbnails(of: entry.folder) else { return }
        let (before, after) = (
            KeptThumbnails.name(entry.name, entry.status), KeptThumbnails.name(name, entry.status)
        )
        do throws(FileProviderError) {
            guard try old.status(of: before) != nil else { return }
            let isElsewhere = parent.identifier != entry.folder.identifier
            var new = old
            if isElsewhere {
                if let there = try thumbnails(of: parent) { new = there } else { new = try makeThumbnails(in: parent) }
            }
            try old.rename(before, to: new, as: after)
            try forgetPictures(of: entry.name, in: old)
            if isElsewhere { removeIfEmpty(entry.folder) }
        } catch {
            logger.info(
                "a thumbnail stays behind", metadata: ["document": "\(entry.path)", "error": "\(error.message)"])
        }
    }

    /// Removes pictures of documents that other programs have removed or renamed, and drafts that a crash has left.
    func sweepThumbnails(of parent: Folder, _ names: [[UInt8]]) {
        guard names.contains(KeptThumbnails.folder), let folder = try? thumbnails(of: parent),
            let pictures = try? folder.names()
        else { return }
        let known = Set(names.map { KeptThumbnails.prefix($0) })
        for name in pictures {
            if TemporaryName.kind(of: name) == .draft { Draft.sweep(name, in: folder) }
            guard KeptThumbnails.isPicture(name), !known.contains(Array(name.prefix(33))),
                let status = try? folder.status(of: name),
                Self.isOld(status.changed, at: Int64(time(nil)), seams.leftoverAge)
            else { continue }
            try? folder.unlink(name)
        }
        // A new folder may have been made for a picture that is about to come.
        if pictures.isEmpty, let status = try? folder.descriptor.status(),
            Self.isOld(status.changed, at: Int64(time(nil)), seams.leftoverAge)
        {
            removeIfEmpty(parent)
        }
    }

    /// Removes all pictures, for the deletion of their folder. Files that are not ours stay, and so does the folder.
    func removeThumbnails(of parent: Folder) throws(FileProviderError) {
        guard let folder = try thumbnails(of: parent) else { return try parent.unlink(KeptThumbnails.folder) }
        for name in try folder.names() where KeptThumbnails.isPicture(name) || TemporaryName.kind(of: name) == .draft {
            try folder.unlink(name)
        }
        try parent.removeFolder(KeptThumbnails.folder)
    }
}
