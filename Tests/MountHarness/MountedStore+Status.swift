package import ControlAPI
import Foundation

extension MountedStore {
    /// `hydrant status --json` for paths in the mount.
    package func statuses(_ paths: [String]) throws -> [ItemStatus] {
        let result = try hydrant(["status", "--json"] + paths.map { $0.isEmpty ? mountPoint : mountPoint + "/" + $0 })
        guard result.succeeded else { throw HarnessError("status: \(result)") }
        return try JSONDecoder().decode([ItemStatus].self, from: Data(result.stdout.utf8))
    }

    /// The lines of `hydrant status` about this mount.
    package func overview() throws -> [String] {
        let lines = try hydrant(["status"]).stdout.split(separator: "\n").map(String.init)
        guard let first = lines.firstIndex(where: { $0.hasPrefix(mountPoint + "  ") }) else {
            throw HarnessError("status: does not list \(mountPoint)")
        }
        return Array(lines[(first + 1)...].prefix { $0.hasPrefix(" ") })
    }

    package func status(_ path: String) throws -> ItemStatus {
        let all = try statuses([path])
        guard all.count == 1, let only = all.first else { throw HarnessError("status \(path): \(all.count) objects") }
        return only
    }
}
