import Foundation

/// A disk of its own, ext4 in a file: small enough to fill, and without shared blocks (reflink). Removed with this
/// object. Needs root.
package final class SmallDisk: Sendable {
    private let sandbox: Sandbox
    /// The mount point.
    package var path: String { sandbox.state }

    package init(megabytes: Int) throws {
        sandbox = try Sandbox()
        let made = try sandbox.run(
            ["sh", "-c", Self.making(megabytes, sandbox.scratch + "/disk", at: sandbox.state)], limit: 20)
        guard made.succeeded else {
            try? sandbox.remove()
            throw HarnessError("cannot make a disk: \(made)")
        }
    }

    deinit {
        do { try sandbox.remove() } catch { print("harness: \(sandbox.path): \(error)") }
    }

    /// The shell script that makes one.
    package static func making(_ megabytes: Int, _ image: String, at path: String) -> String {
        """
        set -e; mkdir -p "\(path)"; truncate -s \(megabytes)M "\(image)"
        mkfs.ext4 -q -m 0 "\(image)"; mount -o loop "\(image)" "\(path)"
        """
    }
}
