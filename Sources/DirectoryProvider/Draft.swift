import FileProvider
import Glibc

/// A new document before it gets its place: a file beside that place, under a hidden name.
struct Draft: Sendable {
    let folder: Folder
    let name: [UInt8]
    let descriptor: Descriptor
    /// Of all bytes written to it.
    private(set) var digest: ContentDigest?

    init(in folder: Folder) throws(FileProviderError) {
        self.folder = folder
        while true {
            let name = TemporaryName.make(.draft)
            let descriptor: Descriptor
            do throws(FileProviderError) {
                descriptor = try folder.open(name, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
            } catch {
                // Named by the folder, which users know.
                throw FileProviderError(SystemError(number: error.errno, call: "open"), path: folder.path())
            }
            // Locked during its use: a draft without a lock was left by a crash. A draft that was swept up before it
            // was locked is made anew.
            let isSweptUp = flock(descriptor.number, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
            if !isSweptUp, let status = try? descriptor.status(), status.links > 0 {
                (self.name, self.descriptor) = (name, descriptor)
                return
            }
        }
    }

    /// Removes a draft that is not in use any more.
    static func sweep(_ name: [UInt8], in folder: Folder) {
        guard let descriptor = try? folder.open(name, O_RDONLY), flock(descriptor.number, LOCK_EX | LOCK_NB) == 0
        else { return }
        try? remove(name, in: folder)
    }

    /// Removes a draft; or the ``Workshop`` of this name, if it has only our own files.
    static func remove(_ name: [UInt8], in folder: Folder) throws(FileProviderError) {
        do throws(FileProviderError) { try folder.unlink(name) } catch {
            guard error.errno == EISDIR else { throw error }
            try Workshop.remove(name, in: folder)
        }
    }

    var status: FileStatus {
        get throws(FileProviderError) {
            try naming(folder.path(of: name)) { () throws(SystemError) in try descriptor.status() }
        }
    }

    /// Sets the metadata of a new document, and syncs its bytes. The mode comes after the owner, since chown(2) removes
    /// setuid, and the time last.
    func finish(permissions: UInt16, modified: Timestamp) throws(FileProviderError) {
        try naming(folder.path(of: name)) { () throws(SystemError) in
            _ = try check("fchmod") { fchmod(descriptor.number, mode_t(permissions)) }
            try descriptor.setModified(modified)
            try descriptor.sync()
        }
    }

    fileprivate func holding(_ digest: ContentDigest?) -> Draft {
        var draft = self
        draft.digest = digest
        return draft
    }

    /// Removes it. Best effort: a leftover is swept up later.
    func discard() { try? folder.unlink(name) }
}

extension DirectoryProvider {
    private static let piece = 1 << 20

    /// A draft in `folder` with all of `contents`; removed again on an error.
    func draft(
        of contents: any ContentSource, in folder: Folder
    ) async throws(FileProviderError) -> Draft {
        let draft = try await blocking { () throws(FileProviderError) in try Draft(in: folder) }
        let digest = try await discarding(draft) { () async throws(FileProviderError) in
            try await copy(contents, to: draft)
        }
        return draft.holding(digest)
    }

    /// Removes `draft` when `body` fails.
    func discarding<Result: Sendable>(
        _ draft: Draft, _ body: () async throws(FileProviderError) -> Result
    ) async throws(FileProviderError) -> Result {
        do throws(FileProviderError) { return try await body() } catch {
            try? await blocking { draft.discard() }
            throw error
        }
    }

    private func copy(
        _ contents: any ContentSource, to draft: Draft
    ) async throws(FileProviderError) -> ContentDigest? {
        var hasher = ContentHasher(size: contents.size)
        var offset: Int64 = 0
        while offset < contents.size {
            try checkCancellation()
            let wanted = min(Self.piece, Int(clamping: contents.size - offset))
            let (start, bytes) = (offset, try await contents.read(at: offset, upTo: wanted))
            guard !bytes.isEmpty, bytes.count <= wanted else {
                throw FileProviderError(
                    .cannotSynchronize,
                    "the contents to upload end at byte \(offset), not \(contents.size)")
            }
            hasher?.take(bytes)
            offset += Int64(bytes.count)
            let isLast = offset == contents.size
            try await blocking { () throws(FileProviderError) in
                try naming(draft.folder.path()) { () throws(SystemError) in
                    // Zeros become a hole; the last byte sets the size.
                    let isHole = bytes.allSatisfy { $0 == 0 }
                    if isHole && isLast {
                        try draft.descriptor.write([0], at: start + Int64(bytes.count) - 1)
                    } else if !isHole {
                        try draft.descriptor.write(bytes, at: start)
                    }
                }
            }
        }
        return hasher?.digest
    }
}
