import ArgumentParser
import ControlAPI
import FileCoordination
import Foundation
import Surroundings

struct VersionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "versions", abstract: "List the versions that the store keeps of a document; restore one.",
        discussion: """
            Lists the newest first, each with its date, size and name; the present contents are not among them. \
            --restore writes the version's bytes into the document, as any program would: the store then keeps the \
            contents that they replace as a version too. --copy writes them to another file. V is a version's name, or \
            the beginning of only one.

            Examples:
              hydrant versions ~/Documents/report.odt
              hydrant versions ~/Documents/report.odt --copy 1764253402 --to /tmp/report-of-friday.odt
              hydrant versions ~/Documents/report.odt --restore 1764253402

            Exit status: 0 done; 1 not done, and the document and FILE are as they were.
            """)

    @Argument(help: "A document in a mount.", completion: .file())
    var path: String

    @Option(help: "Restore this version.")
    var restore: String?

    @Option(help: "Copy this version to the file of --to.")
    var copy: String?

    @Option(help: "A file that does not exist, or a directory, outside any mount.", completion: .file())
    var to: String?

    @Option(help: "List at most so many, 1 to 1000.")
    var limit = 100

    @Flag(
        help: """
            Print an array of objects: identifier, size, modified (seconds since 1970), author, label; with --restore \
            or --copy: path, version, to, bytes.
            """)
    var json = false

    private struct Report: Encodable {
        var path: String
        var version: String
        var to: String
        var bytes: Int64
    }

    func validate() throws {
        guard ControlRequest.versionCounts.contains(limit) else {
            throw ValidationError("--limit \(limit): choose 1 to 1000")
        }
        if restore != nil, copy != nil { throw ValidationError("--restore and --copy exclude each other") }
        if (copy == nil) != (to == nil) { throw ValidationError("--copy and --to go together") }
    }

    func run() async throws {
        let mounted = try MountedPath(path)
        let wanted = restore ?? copy
        let versions = try await list(mounted, limit: wanted == nil ? limit : ControlRequest.versionCounts.upperBound)
        guard let wanted else { return say(versions) }
        let version = try choose(wanted, versions)
        let place: String
        if let to {
            let target = try SaveTarget(to, named: (path as NSString).lastPathComponent)
            _ = try await target.fill { try await fill($0, version, mounted) }
            place = target.path
        } else {
            try await restore(version, mounted)
            place = path
        }
        if json {
            return print(
                Output.json(Report(path: path, version: version.identifier, to: place, bytes: version.size)))
        }
        let what = "version \(Self.name(version)), \(Output.bytes(version.size))"
        print(to == nil ? "\(path): restored \(what)" : "\(path): \(what) copied to \(place)")
    }

    private func list(_ mounted: MountedPath, limit: Int) async throws -> [VersionStatus] {
        let answer = try await ask(mounted.mountPoint, .versions(path: mounted.relative, limit: limit))
        guard case .versions(let versions) = answer else {
            throw fail("\(path): unexpected answer from the daemon; unmount and mount again")
        }
        return versions
    }

    private func say(_ versions: [VersionStatus]) {
        if json { return print(Output.json(versions)) }
        if versions.isEmpty { return print("\(path): the store keeps no earlier version of it") }
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "yyyy-MM-dd HH:mm:ss"
        for version in versions {
            let moment = formatter.string(from: Date(timeIntervalSince1970: version.modified))
            let size = Output.bytes(version.size).padding(toLength: 10, withPad: " ", startingAt: 0)
            let about = [version.label.map { "“\($0)”" }, version.author.map { "by \($0)" }].compactMap(\.self)
            print(([moment, size, version.identifier] + about).joined(separator: "  "))
        }
    }

    private static func name(_ version: VersionStatus) -> String { ShownText.line(version.identifier) }

    private func choose(_ wanted: String, _ versions: [VersionStatus]) throws -> VersionStatus {
        if let exact = versions.first(where: { $0.identifier == wanted }) { return exact }
        let found = versions.filter { !wanted.isEmpty && $0.identifier.hasPrefix(wanted) }
        guard let only = found.first, found.count == 1 else {
            let why = found.isEmpty ? "the store keeps no version" : "several versions begin with"
            throw fail("\(path): \(why) “\(wanted)”; hydrant versions lists them")
        }
        return only
    }

    /// - Parameter descriptor: of an empty file.
    private func fill(_ descriptor: Int32, _ version: VersionStatus, _ mounted: MountedPath) async throws -> Int64 {
        _ = try await ask(
            mounted.mountPoint, .copyVersion(path: mounted.relative, version: version, descriptor: descriptor))
        let moment = timespec(tv_sec: Int(version.modified.rounded(.down)), tv_nsec: 0)
        let times = [moment, moment]
        guard fchmod(descriptor, 0o666 & ~Self.creationMask) == 0, futimens(descriptor, times) == 0,
            fsync(descriptor) == 0
        else { throw fail("\(path): the copy cannot be completed: \(reason())") }
        return version.size
    }

    private static var creationMask: mode_t {
        let mask = umask(0o077)
        umask(mask)
        return mask
    }

    // MARK: Restoring

    private func restore(_ version: VersionStatus, _ mounted: MountedPath) async throws {
        // (In this order: a change after the look is noticed, and a change before it shows in the status.)
        let replacement = try DocumentReplacement(path, shown: path)
        guard case .items(let items) = try await ask(mounted.mountPoint, .status(paths: [mounted.relative])),
            let item = items.first
        else { throw fail("\(path): unexpected answer from the daemon; unmount and mount again") }
        // The store would never have them as a version.
        guard !item.modified else {
            throw fail("\(path): has changes that are not in the store yet; run hydrant sync first")
        }
        let bytes = try await temporaryCopy(version, mounted)
        defer { close(bytes) }
        let url = URL(filePath: path, directoryHint: .notDirectory)
        do {
            try await FileCoordinator().coordinate(writingItemAt: url, options: .forReplacing) { _ in
                try replacement.put(bytes)
            }
        } catch let code as ExitCode { throw code } catch { throw fail("\(path): \(error)") }
    }

    /// A file without a name, outside of the mount.
    private func temporaryCopy(_ version: VersionStatus, _ mounted: MountedPath) async throws -> Int32 {
        let folder = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/var/tmp"
        var name = Array("\(folder)/hydrant-version-XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { throw fail("\(folder): \(reason())") }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        unlink(name)
        do {
            _ = try await fill(descriptor, version, mounted)
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }
}
