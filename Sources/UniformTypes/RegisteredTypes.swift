import Foundation

/// The types that programs have registered: files `hydrant/types/NAME.json` in data folders, an array each.
/// `hydrant types register` writes them.
package enum RegisteredTypes {
    package static let folder = "hydrant/types"
    /// In bytes.
    private static let mostBytes = 256 << 10
    private static let mostFiles = 500

    package struct Entry: Codable, Sendable {
        package var identifier: String
        package var conformsTo: [String]
        /// The preferred one first.
        package var mimeTypes: [String]
        package var extensions: [String]

        package init(identifier: String, conformsTo: [String], mimeTypes: [String], extensions: [String]) {
            self.identifier = identifier
            self.conformsTo = conformsTo
            self.mimeTypes = mimeTypes
            self.extensions = extensions
        }

        var declaration: DeclaredTypes.Declaration {
            .init(
                identifier: identifier, conformsTo: conformsTo, mimeTypes: mimeTypes.map { $0.lowercased() },
                extensions: extensions.map { $0.lowercased() })
        }
    }

    /// The first folder wins. Unreadable files are left out.
    static func all(in dataDirectories: [String]) -> [Entry] {
        var (found, seen) = ([Entry](), Set<String>())
        for folder in dataDirectories {
            let path = folder + "/" + Self.folder
            let names = ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).filter {
                $0.hasSuffix(".json")
            }
            for name in names.sorted().prefix(mostFiles) {
                guard let data = FileManager.default.contents(atPath: "\(path)/\(name)"), data.count <= mostBytes,
                    let entries = try? JSONDecoder().decode([Entry].self, from: data)
                else { continue }
                found += entries.filter { seen.insert($0.identifier.lowercased()).inserted }
            }
        }
        return found
    }
}
