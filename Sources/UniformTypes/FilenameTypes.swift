/// Finds the types of many names, with a cache by the ends of names.
package struct FilenameTypes: Sendable {
    private let table: UniformTypeTable
    private var bySuffix: [String: UniformType?] = [:]
    private static let mostKept = 10_000

    package init(_ table: UniformTypeTable) { self.table = table }

    /// As ``UniformTypeTable/type(ofFilename:)``.
    package mutating func type(of name: String) -> UniformType {
        guard !table.isLiteral(name), let dot = name.utf8.firstIndex(of: UInt8(ascii: ".")) else {
            return table.type(ofFilename: name)
        }
        // The cache's key holds all suffixes of the name. A name that begins with a dot is one suffix.
        let suffix = String(name[dot...])
        if let known = bySuffix[suffix] { return known ?? table.type(ofFilename: name) }
        let found = table.type(ofSuffix: suffix)
        if bySuffix.count >= Self.mostKept { bySuffix = [:] }
        bySuffix[suffix] = .some(found)
        return found ?? table.type(ofFilename: name)
    }
}
