import FileProvider
import FileProviderTesting
import Trees

/// Compares the mount and the store at the end.
enum Agreement {
    private static let exclusions = Exclusions()

    /// Whether it stays, or may stay, on this machine only.
    static func isExcluded(_ path: String) -> Bool {
        path.split(separator: "/").contains { exclusions.match(Filename(String($0))) }
    }

    static func hasExcludedName(_ file: ModelFile, in paths: [String: ModelFile]) -> Bool {
        paths.contains { $0.value === file && isExcluded($0.key) }
    }

    static func entry(_ file: ModelFile) -> StoredEntry {
        switch file.kind {
        case .folder: .folder
        case .document: .document(file.bytes)
        case .link: .link(target: file.bytes)
        }
    }

    static func show(_ entry: StoredEntry) -> String {
        switch entry {
        case .folder: "a folder"
        case .document(let bytes): Contents.show(bytes)
        case .link(let target): "a link to \(Contents.show(target))"
        }
    }

    /// Compares modes and attributes, as far as the store has them.
    static func attributes(_ root: ModelFile, _ store: InMemoryProvider) -> String? {
        for (path, file) in root.walk() where file.kind != .link && !isExcluded(path) {
            guard let item = store.item(at: path) else { continue }
            if let mode = item.posixPermissions, UInt32(mode) & 0o777 != file.mode & 0o777 {
                return
                    "/\(path) has the mode \(String(file.mode, radix: 8)) here, \(String(mode, radix: 8)) in the store"
            }
            if let attributes = item.extendedAttributes, attributes != file.attributes {
                return "/\(path) has the attributes \(file.attributes) here, \(attributes) in the store"
            }
        }
        return nil
    }
}
