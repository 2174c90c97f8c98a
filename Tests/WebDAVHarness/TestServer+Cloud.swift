import Foundation
package import MountHarness

extension TestServer {
    /// Changes what the imitation of a Nextcloud says from its next request on; `nextcloud_live.py` has the names and
    /// the form.
    package func tell(_ name: String, _ json: String) throws {
        let folder = root + ".state"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(json.utf8).write(to: URL(filePath: "\(folder)/\(name).json"), options: .atomic)
    }

    /// The app passwords that the imitation accepts.
    package var appPasswords: [String] {
        let data = FileManager.default.contents(atPath: root + ".state/app-passwords.json") ?? Data("[]".utf8)
        return (try? JSONDecoder().decode([String].self, from: data)) ?? []
    }
}
