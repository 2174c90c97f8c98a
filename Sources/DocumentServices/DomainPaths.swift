package import ControlAPI
package import FileProvider
package import SyncEngine
package import Trees
package import Volume

/// Converts paths of a mounted domain's items between programs' form and people's.
package struct DomainPaths: Sendable {
    private let volume: Volume
    private let mountPoint: String

    package init(_ volume: Volume, mountPoint: String) {
        self.volume = volume
        self.mountPoint = mountPoint
    }

    package func shown(_ path: PathBytes) -> String { mountPoint + (path.bytes.isEmpty ? "" : "/" + path.string) }

    package func shown(_ names: [Filename]) -> String { ([mountPoint] + names.map(\.string)).joined(separator: "/") }

    package func resolve(_ path: PathBytes) async throws(ControlFailure) -> InodeRecord {
        do { return try await volume.resolve(path.names) } catch {
            throw ControlFailure(code: "path", message: "\(shown(path)): \(error.message)")
        }
    }

    package func running(_ transfer: Transfer) -> RunningTransfer {
        RunningTransfer(
            direction: transfer.direction == .download ? .download : .upload,
            path: transfer.path.isEmpty ? mountPoint : mountPoint + "/" + transfer.path,
            bytes: transfer.done, total: transfer.total, started: Double(transfer.started.nanoseconds) / 1e9)
    }
}

extension PathBytes {
    private static let slash = UInt8(ascii: "/")

    /// Joins the names of a path that starts at the mount point.
    package init(joining names: [Filename]) {
        self.init(bytes: Array(names.map(\.bytes).joined(separator: [Self.slash])))
    }

    package var names: [Filename] { bytes.split(separator: Self.slash).map { Filename(bytes: $0) } }
}
