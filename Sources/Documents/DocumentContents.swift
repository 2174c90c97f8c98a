public import Foundation

/// A document's contents: bytes, or a folder of such contents (a *package*).
///
/// Source: Apple, `UIDocument.contents(forType:)`, which takes data or a file wrapper.
public enum DocumentContents: Sendable, Hashable {
    /// The bytes of a file.
    case data(Data)
    /// A folder with named children. Names are file names: not empty, `.` or `..`, at most 255 bytes, without slash and
    /// NUL.
    case package([String: DocumentContents])

    /// The bytes of a file; nil for a package.
    public var data: Data? {
        guard case .data(let data) = self else { return nil }
        return data
    }

    /// The children of a package; nil for a file.
    public var children: [String: DocumentContents]? {
        guard case .package(let children) = self else { return nil }
        return children
    }

    /// The child of a package.
    public subscript(_ name: String) -> DocumentContents? { children?[name] }

    /// The most levels of folders in a package, itself included.
    public static let mostLevels = 64
    /// The most files and folders in a package, itself included.
    public static let mostEntries = 100_000

    /// A hash of the contents, for comparisons in this process only.
    var digest: Int {
        var hasher = Hasher()
        combine(into: &hasher)
        return hasher.finalize()
    }

    private func combine(into hasher: inout Hasher) {
        switch self {
        case .data(let data):
            hasher.combine(0)
            hasher.combine(data.count)
            // Data's own hash covers only its first bytes.
            data.withUnsafeBytes { hasher.combine(bytes: $0) }
        case .package(let children):
            hasher.combine(1)
            hasher.combine(children.count)
            for (name, child) in children.sorted(by: { $0.key < $1.key }) {
                hasher.combine(name)
                child.combine(into: &hasher)
            }
        }
    }

    /// - Throws: ``DocumentError/Code/badContents`` when no folder can hold the contents.
    func check() throws(DocumentError) {
        var entries = 0
        try check(level: 1, &entries)
    }

    private func check(level: Int, _ entries: inout Int) throws(DocumentError) {
        entries += 1
        guard case .package(let children) = self else { return }
        if level > Self.mostLevels {
            throw DocumentError(.badContents, "the package has more than \(Self.mostLevels) levels of folders")
        }
        for (name, child) in children {
            guard Self.isPossible(name) else {
                throw DocumentError(.badContents, "“\(DocumentError.shown(name))” is not a file name for a package")
            }
            try child.check(level: level + 1, &entries)
        }
        if entries > Self.mostEntries {
            throw DocumentError(.badContents, "the package has more than \(Self.mostEntries) files and folders")
        }
    }

    private static func isPossible(_ name: String) -> Bool {
        let bytes = FilePath.bytes(name)
        return (1...255).contains(bytes.count) && name != "." && name != ".." && !bytes.contains(0)
            && !bytes.contains(UInt8(ascii: "/"))
    }
}
