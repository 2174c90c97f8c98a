import FileProvider

/// Names that a Nextcloud takes for no new document or folder. Items that have such a name already keep it.
///
/// Source: Nextcloud 30, `FilenameValidator`, whose lists the capabilities have; before, `blacklisted_files`.
struct CloudNameRules: Sendable, Equatable {
    /// All in lower case.
    private var names: Set<String> = []
    /// The part before the first full stop, but for one at the beginning.
    private var stems: Set<String> = []
    private var characters: Set<Unicode.Scalar> = []
    private var endings: [String] = []
    private static let most = 1_000
    private static let longest = 255

    init() {}

    /// - Parameter files: the section `files` of the capabilities.
    init(_ files: [String: Any]) {
        func list(_ key: String) -> [String]? {
            (files[key] as? [Any])?.prefix(Self.most).compactMap { $0 as? String }
                .filter { !$0.isEmpty && $0.utf8.count <= Self.longest }.map { $0.lowercased() }
        }
        names = Set(list("forbidden_filenames") ?? list("blacklisted_files") ?? [])
        stems = Set(list("forbidden_filename_basenames") ?? [])
        endings = list("forbidden_filename_extensions") ?? []
        characters = Set((list("forbidden_filename_characters") ?? []).flatMap(\.unicodeScalars))
    }

    /// Why the server takes no such name, for people; nil: it takes it.
    func problem(_ name: Filename) -> String? {
        let plain = name.string.lowercased()
        if names.contains(plain) { return "this server takes no item of this name" }
        let stop = plain.dropFirst().firstIndex(of: ".") ?? plain.endIndex
        if stems.contains(String(plain[..<stop])) {
            return "this server takes no name that is “\(plain[..<stop])” before the first full stop"
        }
        if let character = plain.unicodeScalars.first(where: characters.contains) {
            return "this server takes no name with “\(character)”"
        }
        guard let ending = endings.first(where: { plain.utf8.reversed().starts(with: $0.utf8.reversed()) }) else {
            return nil
        }
        return ending == " "
            ? "this server takes no name with a space at the end" : "this server takes no name that ends in “\(ending)”"
    }
}

extension WebDAVProvider {
    /// Called before an item gets a name.
    ///
    /// - Throws: ``FileProviderError/Code/invalidName``.
    func checkRules(_ name: Filename) throws(FileProviderError) {
        guard let problem = probe.traitsIfKnown?.capabilities.names.problem(name) else { return }
        throw FileProviderError(.invalidName, "“\(name)”: \(problem); rename it")
    }
}
