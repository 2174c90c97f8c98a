import Glibc
import Synchronization

/// A copy of a generation's bytes at one moment, for an upload. It has no name: it goes with this object, or with the
/// daemon, whatever ends that.
package final class Snapshot: Sendable {
    package let descriptor: Int32
    /// In bytes.
    package let size: Int64
    /// Where it was made, for messages.
    private let path: String

    init(descriptor: Int32, size: Int64, path: String) {
        self.descriptor = descriptor
        self.size = size
        self.path = path
    }

    deinit { close(descriptor) }

    /// pread(2) up to `count` bytes; fewer only at the end.
    package func read(at offset: Int64, upTo count: Int) throws(ContentError) -> [UInt8] {
        let count = Int(min(Int64(count), max(0, size - offset)))
        var failure: ContentError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
            while done < count {
                let step = pread(descriptor, buffer.baseAddress! + done, count - done, off_t(offset) + done)
                if step < 0 && errno == EINTR { continue }
                if step < 0 { failure = .last(path) }
                if step <= 0 { break }
                done += step
            }
        }
        if let failure { throw failure }
        return bytes
    }
}

extension ContentStore {
    /// Copies a generation's bytes (a reflink where the file system can).
    ///
    /// The fdatasync(2) before it write-protects mapped pages, so that a store through a mapping shows
    /// in the time stamps that are compared afterwards.
    ///
    /// - Throws: ``ContentError/Code/changed`` when the file was written meanwhile.
    package func snapshot(of content: ContentFile) throws(ContentError) -> Snapshot {
        let path = "\(directory)/uploads/\(content.id)"
        let (descriptor, size) = try copy(content, path) { () throws(ContentError) in try nameless(path) }
        return Snapshot(descriptor: descriptor, size: size, path: path)
    }

    /// The same as a file with a name, for programs, which only its owner may read.
    ///
    /// - Throws: as ``snapshot(of:)``; then there is no such file.
    package func snapshot(of content: ContentFile, at path: String) throws(ContentError) {
        do {
            let (descriptor, _) = try copy(content, path) { () throws(ContentError) in
                let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o400)
                guard descriptor >= 0 else { throw .last(path) }
                return descriptor
            }
            close(descriptor)
        } catch {
            Glibc.unlink(path)
            throw error
        }
    }

    /// - Returns: the copy, open, and its size.
    private func copy(
        _ content: ContentFile, _ path: String, to make: () throws(ContentError) -> Int32
    ) throws(ContentError) -> (descriptor: Int32, size: Int64) {
        try content.synchronize()
        let before = try content.status()
        let descriptor = try make()
        do throws(ContentError) {
            try SparseCopy.run(from: content.descriptor, to: descriptor, size: before.size, path: path)
            guard try content.status() == before else {
                throw ContentError(code: .changed, message: "\(path): written while it was copied")
            }
        } catch {
            close(descriptor)
            throw error
        }
        return (descriptor, before.size)
    }

    /// A new file whose name is gone again.
    private func nameless(_ path: String) throws(ContentError) -> Int32 {
        while true {
            Glibc.unlink(path)
            let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            // Another one of the same generation is just here.
            if descriptor < 0 && errno == EEXIST { continue }
            guard descriptor >= 0 else { throw .last(path) }
            Glibc.unlink(path)
            return descriptor
        }
    }
}
