import CLinux
import Glibc

/// The store's other client, at a real mount.
protocol OtherClient {
    /// Nil: there is no such document.
    func read(_ path: String) -> [UInt8]?
    func tree() throws -> ModelFile
    /// Like a program that saves safely: no client sees half of it.
    ///
    /// - Returns: also what it has replaced, as it was in that moment.
    func put(_ bytes: [UInt8], at path: String) throws -> (answer: Answer, replaced: [UInt8]?)
    /// - Returns: also what it has removed, as it was in that moment.
    func delete(_ path: String) throws -> (answer: Answer, removed: [UInt8]?)
    /// Without replacing anything.
    func move(_ path: String, to new: String) throws -> Answer
    func makeFolder(_ path: String) throws -> Answer
    /// - Parameter numbers: the attribute, and its value.
    func setAttribute(_ path: String, _ numbers: [Int]) throws -> Answer
}

/// Works in the folder that the store is, or that a server serves.
final class FolderClient: OtherClient {
    private let root: String
    /// On the same file system.
    private let scratch: String
    private let calls: SystemCalls
    private let readTree: (String) throws -> ModelFile

    init(_ root: String, scratch: String, tree: @escaping (String) throws -> ModelFile) {
        (self.root, self.scratch, readTree) = (root, scratch, tree)
        calls = SystemCalls(root)
    }

    func read(_ path: String) -> [UInt8]? { Files.read(root + "/" + path) }
    func tree() throws -> ModelFile { try readTree(root) }

    // A content that arrived just before was seen only by the operation that removes it: look afterwards.

    func put(_ bytes: [UInt8], at path: String) throws -> (answer: Answer, replaced: [UInt8]?) {
        let (draft, path) = (scratch + "/draft", root + "/" + path)
        try Files.write(bytes, to: draft)
        while true {
            if clinux_renameat2(AT_FDCWD, draft, AT_FDCWD, path, 1 /* RENAME_NOREPLACE */) == 0 { return (.done, nil) }
            guard errno == EEXIST else { return (.failed(errno), nil) }
            if isFolder(path) { return (.failed(EISDIR), nil) }
            if clinux_renameat2(AT_FDCWD, draft, AT_FDCWD, path, 2 /* RENAME_EXCHANGE */) == 0 {
                return (.done, take(draft))
            }
            guard errno == ENOENT else { return (.failed(errno), nil) }
        }
    }

    func delete(_ path: String) -> (answer: Answer, removed: [UInt8]?) {
        let path = root + "/" + path
        if isFolder(path) { return (rmdir(path) == 0 ? .done : .failed(errno), nil) }
        let removed = scratch + "/removed"
        guard rename(path, removed) == 0 else { return (.failed(errno), nil) }
        return (.done, take(removed))
    }

    func move(_ path: String, to new: String) -> Answer { calls.perform(Operation(.renameNew, [path, new])) }
    func makeFolder(_ path: String) -> Answer { calls.perform(Operation(.mkdir, [path])) }
    func setAttribute(_ path: String, _ numbers: [Int]) -> Answer {
        calls.perform(Operation(.setAttribute, [path], numbers))
    }

    private func isFolder(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    private func take(_ path: String) -> [UInt8]? {
        let bytes = Files.read(path)
        unlink(path)
        return bytes
    }
}
