import Foundation

/// A file manager that Hydrant has an extension for.
package struct FileManagerProgram: Sendable, Codable, Equatable {
    package var name: String
    /// Whether the program is on this machine.
    package var isThere: Bool
    /// Debian's packages, separated by spaces, that it needs for extensions in Python, and has not; nil: none.
    package var missingPackage: String?

    private enum CodingKeys: String, CodingKey {
        case name
        case isThere = "installed"
        case missingPackage
    }

    // By hand, to keep the keys of nil values.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(isThere, forKey: .isThere)
        try container.encode(missingPackage, forKey: .missingPackage)
    }

    private init(name: String, isThere: Bool, missingPackage: String?) {
        (self.name, self.isThere, self.missingPackage) = (name, isThere, missingPackage)
    }

    /// Where programs' libraries are: `/usr/lib`, and the folders of an architecture in it.
    private static var libraries: [String] {
        let architectures = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []
        return ["/usr/lib", "/usr/lib64", "/usr/local/lib"]
            + architectures.filter { $0.contains("-linux-") }.map { "/usr/lib/\($0)" }
    }

    /// All of them.
    package static func all(in environment: [String: String] = ProcessInfo.processInfo.environment) -> [Self] {
        let paths = (environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":").map(String.init)
        let libraries = libraries
        func program(
            _ name: String, _ file: String, _ bindings: [String], _ types: [String], _ package: String?
        ) -> Self {
            let isThere = paths.contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(file)") }
            let has = [bindings, types].allSatisfy { files in
                files.isEmpty
                    || libraries.contains { library in
                        files.contains { FileManager.default.fileExists(atPath: "\(library)/\($0)") }
                    }
            }
            return Self(name: name, isThere: isThere, missingPackage: isThere && !has ? package : nil)
        }
        return [
            program(
                "Nautilus", "nautilus",
                ["nautilus/extensions-4/libnautilus-python.so", "nautilus/extensions-3.0/libnautilus-python.so"], [],
                "python3-nautilus"),
            program("Nemo", "nemo", ["nemo/extensions-3.0/libnemo-python.so"], [], "nemo-python"),
            // (Debian's thunarx-python works only with a package that it does not name.)
            program(
                "Thunar", "thunar", ["thunarx-3/thunarx-python.so"], ["girepository-1.0/Thunarx-3.0.typelib"],
                "thunarx-python gir1.2-thunarx-3.0"),
            // (A service menu needs no bindings.)
            program("Dolphin", "dolphin", [], [], nil),
        ]
    }
}
