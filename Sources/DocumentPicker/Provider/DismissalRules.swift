import ControlAPI
import FileCoordination
import Foundation
import UniformTypes

/// Decides which URLs an extension may end a presentation with.
struct DismissalRules: Sendable {
    let mode: DocumentPickerMode
    let storage: URL?
    let original: URL?
    let validTypes: [UniformType]
    /// Asks the file provider's daemon for an item, which it may have to list first.
    let locate: @Sendable (PathBytes) async throws -> ItemStatus

    /// The place of an allowed URL.
    enum Allowed: Sendable {
        /// In the file provider's domain, relative to its mount point.
        case inStorage(PathBytes, ItemStatus)
        case local
    }

    func check(_ url: URL) async throws -> Allowed {
        guard url.isFileURL else { throw DocumentPickerError("\(url.absoluteString): not a file URL") }
        let path = url.standardizedFileURL.path(percentEncoded: false)
        switch mode {
        case .open:
            guard let storage else {
                throw DocumentPickerError("\(path): only a file provider's documents can be opened")
            }
            guard let inside = Self.relative(path, in: storage) else {
                throw DocumentPickerError(
                    "\(path): lies outside of the provider's documents in \(Self.folderPath(storage))")
            }
            return .inStorage(inside, try await document(inside, path))
        case .import:
            if let storage, let inside = Self.relative(path, in: storage) {
                return .inStorage(inside, try await document(inside, path))
            }
            try Self.requireReadable(path)
            try requireType(path)
            return .local
        case .export, .move:
            guard let original else { throw DocumentPickerError("\(path): there is nothing to \(mode.rawValue)") }
            if original.standardizedFileURL.path(percentEncoded: false) == path {
                throw DocumentPickerError("\(path): is the original; make a copy of it first")
            }
            let inside = storage.flatMap { Self.relative(path, in: $0) }
            if mode == .move {
                guard let storage else {
                    throw DocumentPickerError("\(path): a document can only be moved to a file provider")
                }
                if inside == nil {
                    throw DocumentPickerError(
                        "\(path): lies outside of the provider's documents in \(Self.folderPath(storage))")
                }
            }
            try Self.requireReadable(path)
            try await Self.requireCopy(path, of: original)
            guard let inside else { return .local }
            let status = try await locate(inside)
            guard status.kind == .document else { throw DocumentPickerError("\(path): not a document") }
            if status.excluded {
                throw DocumentPickerError("\(path): stays on this machine because of its name; choose another name")
            }
            return .inStorage(inside, status)
        }
    }

    /// A document of the store, which may be a placeholder.
    private func document(_ inside: PathBytes, _ path: String) async throws -> ItemStatus {
        let status = try await locate(inside)
        guard status.kind == .document else {
            throw DocumentPickerError("\(path): is a \(status.kind.rawValue), not a document")
        }
        try requireType(path)
        return status
    }

    private func requireType(_ path: String) throws {
        let type = UniformTypeTable.system.type(ofFilename: (path as NSString).lastPathComponent)
        guard UniformTypeTable.system.conforms(type, toAnyOf: validTypes) else {
            throw DocumentPickerError(
                "\(path): is of the type \(type), not of \(validTypes.map(\.identifier).joined(separator: " or "))")
        }
    }

    private static func requireReadable(_ path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
            throw DocumentPickerError("\(path): cannot be read: \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw DocumentPickerError("\(path): not a document") }
    }

    /// Checks that the copy is another file with the same bytes, because the original may be removed then.
    private static func requireCopy(_ path: String, of original: URL) async throws {
        let source = original.path(percentEncoded: false)
        try await onThread {
            let (copy, first) = (try FileStamp(path, follows: false), try FileStamp(source, follows: true))
            guard copy.isRegular else { throw DocumentPickerError("\(path): not a document") }
            if copy.isSameFile(as: first) {
                throw DocumentPickerError("\(path): is the original; make a copy of it first")
            }
            guard try FileComparison.areEqual(path, source) else {
                throw DocumentPickerError("\(path): is not a copy of \(source)")
            }
        }
    }

    /// The path relative to a folder; nil: the path is not in the folder.
    static func relative(_ path: String, in folder: URL) -> PathBytes? {
        let root = folderPath(folder)
        guard path.hasPrefix(root + "/") else { return nil }
        let parts = path.dropFirst(root.count + 1).split(separator: "/")
        if parts.isEmpty || parts.contains("..") { return nil }
        return PathBytes(parts.joined(separator: "/"))
    }

    /// The folder's path without a trailing slash.
    static func folderPath(_ folder: URL) -> String {
        let path = folder.standardizedFileURL.path(percentEncoded: false)
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }
}
