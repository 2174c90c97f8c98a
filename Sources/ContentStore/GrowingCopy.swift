import Glibc
import Synchronization

/// A copy of a generation that is made while its first bytes are sent already. Until it is complete, bytes come from the
/// generation's own file. They are of one moment if nobody changes that file until the copy is complete: so whoever sends
/// them must not send the last byte before.
final class GrowingCopy: Sendable {
    private enum Stage {
        case copying
        case complete
        /// The disk has no room for a copy.
        case never
    }
    let path: String
    private let file: ContentFile
    private let state: ContentStat
    private let descriptor: Int32
    private let stage = Mutex(Stage.copying)

    /// - Parameters:
    ///   - state: the file's, before any byte is read.
    ///   - descriptor: an empty file, which is closed with this object.
    init(of file: ContentFile, _ state: ContentStat, into descriptor: Int32, path: String) {
        self.file = file
        self.state = state
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }

    /// In bytes.
    var size: Int64 { state.size }

    /// The file to read from now.
    var readable: Int32 { isComplete ? descriptor : file.descriptor }

    private var isComplete: Bool { stage.withLock { $0 == .complete } }

    /// Reads with `body` from a file that has the bytes of that moment.
    ///
    /// - Throws: ``ContentError/Code/changed`` when the file was changed before the copy was complete.
    func read<T>(_ body: (Int32) throws(ContentError) -> T) throws(ContentError) -> T {
        while true {
            let isCopy = isComplete
            let found = try body(isCopy ? descriptor : file.descriptor)
            if isCopy { return found }
            // After the read: only then is it known that the bytes had not changed.
            if try file.status().isSame(as: state) { return found }
            // (The copy may be complete by now: then it has them.)
            if !isComplete { throw ContentError(code: .changed, message: "\(file.path): changed during the upload") }
        }
    }

    func complete() throws(ContentError) {
        do throws(ContentError) {
            try SparseCopy.run(from: file.descriptor, to: descriptor, size: size, path: path)
        } catch {
            guard error.code == .diskFull else { throw error }
            // It must not change until its last byte is sent.
            ftruncate(descriptor, 0)
            return stage.withLock { $0 = .never }
        }
        guard try file.status().isSame(as: state) else {
            throw ContentError(code: .changed, message: "\(file.path): changed during the copy")
        }
        stage.withLock { $0 = .complete }
    }
}
