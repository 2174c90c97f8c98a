import CLinux
import ControlAPI
import Foundation

/// The file to replace has changed since the document was read or saved last; it was not replaced.
struct AnotherVersion: Error {}

/// Writes a file whole or not at all, durably. Blocks.
struct FileWriter {
    let attributes: DocumentAttributes
    /// For tests: called when the new file is durable, and after the last check of the old one.
    var willPlace: (_ hasChecked: Bool) -> Void = { _ in }

    /// Makes the file.
    ///
    /// - Throws: ``DocumentError/Code/exists``.
    func create(_ data: Data, at path: String) throws -> KnownContents {
        let folder = FilePath.folder(path)
        let temporary = FilePath.temporary(in: folder)
        return try put(data, as: temporary, for: path, attributesOf: nil) {
            guard FilePath.moveNew(temporary, to: path) == 0 else { throw Self.failure(path) }
            FilePath.syncFolder(folder)
        }
    }

    /// Replaces a file by a new one with the bytes, renamed over it; the mount keeps the document's identity through
    /// that rename. The new file gets the mode, owner and attributes of the old one, as far as this process may set
    /// them.
    ///
    /// - Parameter known: the state that the old file must have; nil: any.
    /// - Throws: ``AnotherVersion``.
    func replace(_ path: String, with data: Data, known: KnownContents?) throws -> KnownContents {
        let folder = FilePath.folder(path)
        let temporary = FilePath.temporary(in: folder)
        return try put(data, as: temporary, for: path, attributesOf: path) {
            try place(temporary, over: path, known)
            FilePath.syncFolder(folder)
        }
    }

    private func place(_ new: String, over path: String, _ known: KnownContents?) throws {
        willPlace(false)
        // Somebody else may have written the file meanwhile.
        if let known, try !FileReader.isAsKnown(path, known) { throw AnotherVersion() }
        willPlace(true)
        // Outside of a mount, exchange the files: the old file then shows a write after that check. (In a mount an
        // exchange would download a document that is not here, only to remove it.)
        if let known, !FilePath.isInMount(path) {
            if FilePath.exchange(new, path) == 0 {
                if (try? FileReader.isAsKnown(new, known)) != true {
                    if FilePath.exchange(new, path) != 0 {
                        _ = FilePath.moveNew(new, to: FilePath.conflictedCopy(of: path, number: 1))
                    }
                    throw AnotherVersion()
                }
                _ = ByteText.withPath(new) { unlink($0) }
                return
            }
            // Some file systems cannot exchange.
            guard errno == EINVAL else { throw Self.failure(path) }
        }
        guard FilePath.move(new, over: path) == 0 else { throw Self.failure(path) }
    }

    /// Writes a new file, outside of its final place.
    ///
    /// - Parameter target: the final place, for messages.
    func stage(_ data: Data, at path: String, for target: String, attributesOf old: String?) throws -> KnownContents {
        try put(data, as: path, for: target, attributesOf: old) {}
    }

    private func put(
        _ data: Data, as path: String, for target: String, attributesOf old: String?, then finish: () throws -> Void
    ) throws -> KnownContents {
        let oldStatus = try old.map { try FileReader.status($0) }
        if let old, ByteText.withPath(old, { faccessat(AT_FDCWD, $0, W_OK, AT_EACCESS) }) != 0, errno != ENOENT {
            throw Self.failure(old, "; it is read-only: make it writable, or save the document elsewhere")
        }
        let descriptor = ByteText.withPath(path) {
            Glibc.open($0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, oldStatus == nil ? 0o666 : 0o600)
        }
        guard descriptor >= 0 else { throw Self.failure(target, "; the folder must be writable") }
        defer { close(descriptor) }
        do {
            try Self.write(data, to: descriptor, target)
            if let old, let oldStatus { try keepAttributes(of: old, oldStatus, on: descriptor) }
            try setAttributes(on: descriptor, target)
            guard fsync(descriptor) == 0 else { throw Self.failure(target) }
            try finish()
        } catch {
            _ = ByteText.withPath(path) { unlink($0) }
            throw error
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Self.failure(target) }
        return .file(FileStamp(status), digest: DocumentContents.data(data).digest)
    }

    private static func write(_ data: Data, to descriptor: Int32, _ path: String) throws {
        try data.withUnsafeBytes { bytes in
            var done = 0
            while done < bytes.count {
                let count = Glibc.write(descriptor, bytes.baseAddress! + done, bytes.count - done)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { throw failure(path) }
                done += count
            }
        }
    }

    private func keepAttributes(of old: String, _ status: stat, on descriptor: Int32) throws {
        var mode = status.st_mode & 0o7777
        var new = stat()
        guard fstat(descriptor, &new) == 0 else { throw Self.failure(old) }
        if status.st_uid != new.st_uid || status.st_gid != new.st_gid {
            // Only root may give files away; everybody may set a group that he is in.
            if fchown(descriptor, status.st_uid, status.st_gid) != 0 {
                _ = fchown(descriptor, uid_t.max, status.st_gid)
            }
            guard fstat(descriptor, &new) == 0 else { throw Self.failure(old) }
            // Grant no rights by the change of owner: drop setuid, and give another group only the rights of others.
            if new.st_uid != status.st_uid { mode &= ~0o4000 }
            if new.st_gid != status.st_gid { mode = mode & ~0o2070 | (mode & 0o007) << 3 }
        }
        for (name, value) in Self.extendedAttributes(of: old) {
            // Ignore attributes that only the system may set.
            _ = value.withUnsafeBytes { fsetxattr(descriptor, name, $0.baseAddress, $0.count, 0) }
        }
        guard fchmod(descriptor, mode) == 0 else { throw Self.failure(old) }
    }

    private static func extendedAttributes(of path: String) -> [String: Data] {
        let size = ByteText.withPath(path) { llistxattr($0, nil, 0) }
        guard size > 0 else { return [:] }
        var list = [CChar](repeating: 0, count: size)
        let count = ByteText.withPath(path) { llistxattr($0, &list, list.count) }
        guard count > 0 else { return [:] }
        var found: [String: Data] = [:]
        for bytes in list.prefix(count).split(separator: 0) {
            let name = String(decoding: bytes.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let length = ByteText.withPath(path) { lgetxattr($0, name, nil, 0) }
            guard length >= 0 else { continue }
            var value = Data(count: length)
            let got = value.withUnsafeMutableBytes { buffer in
                ByteText.withPath(path) { lgetxattr($0, name, buffer.baseAddress, buffer.count) }
            }
            if got == length { found[name] = value }
        }
        return found
    }

    /// Sets the attributes that the document wants.
    func setAttributes(on descriptor: Int32, _ path: String) throws {
        for (name, value) in attributes.all {
            guard let value else {
                if fremovexattr(descriptor, name) != 0, errno != ENODATA, errno != ENOTSUP {
                    throw Self.failure(path, "; attribute \(DocumentError.shown(name))")
                }
                continue
            }
            guard value.withUnsafeBytes({ fsetxattr(descriptor, name, $0.baseAddress, $0.count, 0) }) == 0 else {
                throw Self.failure(path, "; attribute \(DocumentError.shown(name))")
            }
        }
        if let permissions = attributes.permissions, fchmod(descriptor, mode_t(permissions & 0o7777)) != 0 {
            throw Self.failure(path)
        }
    }

    static func failure(_ path: String, _ advice: String = "") -> DocumentError {
        let number = errno
        if number == EEXIST {
            return DocumentError(
                .exists, "\(DocumentError.shown(path)): the name is taken; choose another name")
        }
        let hint = number == ENOSPC ? "; make room, then save again" : advice
        return DocumentError.system(.unwritable, path, number, hint)
    }
}
