import ContentStore
import Foundation
import ItemCatalog
import Surroundings
import Trees

/// Copies modified content out of a state directory, even if its catalog is damaged; needs no store.
package struct Rescue {
    private let state: StateDirectory
    private let target: String
    private let takesAll: Bool

    /// Fails while a daemon has the state directory, and if the target is not an empty or a new folder.
    package init(stateDirectory: String, target: String, takesAll: Bool) throws(DaemonError) {
        if let problem = RescueTarget.problem(target, state: stateDirectory) { throw DaemonError(problem) }
        state = try StateDirectory(existing: stateDirectory)
        self.target = target
        self.takesAll = takesAll
    }

    /// For a caller that holds the state directory already.
    init(of state: StateDirectory, target: String) throws(DaemonError) {
        if let problem = RescueTarget.problem(target, state: state.path) { throw DaemonError(problem) }
        self.state = state
        self.target = target
        takesAll = false
    }

    /// The result for one file; also a line of the manifest.
    package struct Rescued: Codable, Sendable {
        /// The path in the target; invalid UTF-8 is shown as U+FFFD, and `pathBytes` (base64) is exact.
        package var path: String
        package var pathBytes: String?
        /// The document's path in the mount, where it differs.
        package var originalPath: String?
        package var identifier: String?
        /// The store's version that the change started from; base64.
        package var baseVersion: String?
        /// The size in bytes.
        package var size: Int64
        /// The path of the bytes in the state directory, where they remain.
        package var source: String
        /// Only some bytes were downloaded; the `.ranges` file beside the copy lists them.
        package var isPartial: Bool
        /// The reason why the copy is missing or incomplete.
        package var failure: String?
    }

    package struct Report: Sendable {
        package var files: [Rescued] = []
        /// The reason why the catalog could not be used.
        package var catalogProblem: String?
        package var rescued: [Rescued] { files.filter { $0.failure == nil } }
        package var failed: [Rescued] { files.filter { $0.failure != nil } }
        package var bytes: Int64 { rescued.map(\.size).boundedSum }
    }

    package static let manifest = "rescue.json"

    /// Copies every file; a failure is reported and does not stop the others. Every file in the report is on the disk
    /// (fsync(2)) when this returns.
    ///
    /// - Parameter dryRun: whether to only report what would be copied.
    package func run(dryRun: Bool) throws(DaemonError) -> Report {
        let inventory = ContentInventory(directory: state.storePath)
        let found = RescueCandidates(inventory: inventory, catalogPath: state.catalogPath).find(all: takesAll)
        var report = Report(catalogProblem: found.problem)
        if dryRun {
            report.files = found.candidates.map {
                describe($0, at: $0.label.path, size: inventory.status(of: $0.source)?.size)
            }
            return report
        }
        let target = try RescueTarget(path: target)
        // Create the manifest first, so that no document takes its name.
        let manifest = try target.create(Array(Self.manifest.utf8)).descriptor
        defer { close(manifest) }
        for candidate in found.candidates {
            do throws(DaemonError) {
                report.files.append(try copy(candidate, to: target))
            } catch {
                var failed = describe(candidate, at: candidate.label.path, size: nil)
                failed.failure = error.message
                report.files.append(failed)
            }
        }
        try write(report, to: manifest)
        return report
    }

    private func copy(_ candidate: RescueCandidate, to target: RescueTarget) throws(DaemonError) -> Rescued {
        let label = candidate.label
        let source = open(candidate.source, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard source >= 0 else { throw Self.failure(candidate.source) }
        defer { close(source) }
        var status = stat()
        guard fstat(source, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Self.failure(candidate.source)
        }
        let size = Int64(status.st_size)
        let made = try target.create(label.path, suffix: label.extents == nil ? "" : ".partial")
        defer { close(made.descriptor) }
        var result = describe(candidate, at: made.path, size: size)
        let copy = FileCopy(source: source, target: made.descriptor, size: size, path: result.path)
        let modified = label.modified ?? Int128(status.st_mtim.tv_sec) * 1_000_000_000 + Int128(status.st_mtim.tv_nsec)
        if let problem = copy.run() ?? copy.dress(mode: label.mode, modified: modified) { result.failure = problem }
        if let extents = label.extents { try writeRanges(extents.real(size: size), size, beside: made.path, target) }
        return result
    }

    private func writeRanges(
        _ ranges: [Range<Int64>], _ size: Int64, beside path: [UInt8], _ target: RescueTarget
    ) throws(DaemonError) {
        var text = "# The ranges of the document's \(size) bytes that were here, first and last byte included.\n"
        for range in ranges { text += "\(range.lowerBound) \(range.upperBound - 1)\n" }
        let made = try target.create(path, suffix: ".ranges")
        defer { close(made.descriptor) }
        if let problem = FileCopy.write(Array(text.utf8), to: made.descriptor) { throw DaemonError(problem) }
    }

    private func describe(_ candidate: RescueCandidate, at path: [UInt8], size: Int64?) -> Rescued {
        let shown = String(decoding: path, as: UTF8.self)
        let original = String(decoding: candidate.label.path, as: UTF8.self)
        return Rescued(
            path: shown, pathBytes: Array(shown.utf8) == path ? nil : Data(path).base64EncodedString(),
            originalPath: shown == original || candidate.isNameless ? nil : original,
            identifier: candidate.label.identifier,
            baseVersion: candidate.label.base.map { Data($0).base64EncodedString() }, size: size ?? 0,
            source: candidate.source, isPartial: candidate.label.extents != nil)
    }

    private func write(_ report: Report, to manifest: Int32) throws(DaemonError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .withoutEscapingSlashes, .sortedKeys]
        guard let data = try? encoder.encode(report.files) else { throw DaemonError("the manifest cannot be made") }
        if let problem = FileCopy.write(Array(data) + [UInt8(ascii: "\n")], to: manifest) {
            throw DaemonError("\(target)/\(Self.manifest): \(problem)")
        }
    }

    private static func failure(_ path: String) -> DaemonError {
        DaemonError("\(path): \(String(cString: strerror(errno == 0 ? EINVAL : errno)))")
    }
}
