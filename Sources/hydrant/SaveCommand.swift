import ArgumentParser
import ControlAPI
import Foundation

struct SaveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "save", abstract: "Copy a document with its local changes out of the mount.",
        discussion: """
            For changes that the store refuses, before you discard them. Downloads missing bytes. Never overwrites a \
            file; TO appears when the copy is whole.

            Examples:
              hydrant save ~/Documents/report.odt ~/report-mine.odt
              hydrant save ~/Documents/report.odt /tmp

            Exit status: 0 saved; 1 not saved, and nothing is at TO.
            """)

    @Argument(help: "A document in a mount.", completion: .file())
    var path: String

    @Argument(help: "A file that does not exist, or a directory, outside any mount.", completion: .file())
    var to: String

    @Flag(help: "Print an object: path, to, bytes.")
    var json = false

    private struct Report: Encodable {
        var path: String
        var to: String
        var bytes: Int64
    }

    func run() async throws {
        _ = try MountedPath(path)
        let source = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard source >= 0 else {
            throw fail("\(path): \(errno == ELOOP ? "a link; name the document itself" : reason())")
        }
        defer { close(source) }
        var status = stat()
        guard fstat(source, &status) == 0 else { throw fail("\(path): \(reason())") }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw fail("\(path): not a document; name the documents to save")
        }
        let target = try SaveTarget(to, named: (path as NSString).lastPathComponent)
        let bytes = try await target.fill { descriptor in try copy(source, status, to: descriptor, target.path) }
        if json { return print(Output.json(Report(path: path, to: target.path, bytes: bytes))) }
        print("\(path): \(Output.bytes(bytes)) saved to \(target.path)")
    }

    private func copy(_ source: Int32, _ status: stat, to target: Int32, _ name: String) throws -> Int64 {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        var total: Int64 = 0
        while true {
            let count = read(source, &buffer, buffer.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw fail(
                    "\(path): \(reason()) after \(Output.bytes(total)): the rest is not here and cannot be downloaded; "
                        + "hydrant status \(path) says why; after an unmount, hydrant rescue copies the bytes that are here"
                )
            }
            if count == 0 { break }
            guard writeAll(buffer[..<count], to: target) else { throw fail("\(name): \(reason())") }
            total += Int64(count)
        }
        guard fchmod(target, status.st_mode & 0o777) == 0 else { throw fail("\(name): \(reason())") }
        var times = [status.st_atim, status.st_mtim]
        guard futimens(target, &times) == 0, fsync(target) == 0 else { throw fail("\(name): \(reason())") }
        return total
    }
}
