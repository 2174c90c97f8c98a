import CLinux
import ChildProcess
import ContentStore
import Foundation
import Pictures
import Surroundings
import Synchronization

/// This machine's thumbnailers, as desktops register them: files `thumbnailers/*.thumbnailer` in the folders of shared
/// data, with MIME types and command lines.
///
/// Source: GNOME, gnome-desktop, "Thumbnailers"; the keys are those of the Desktop Entry Specification.
struct DesktopThumbnailers: Sendable {
    struct Program: Sendable, Equatable {
        /// The name in messages.
        var name: String
        /// The command line, with %u, %i, %o and %s.
        var words: [String]
        var mimeTypes: Set<String>
    }
    let programs: [Program]

    /// - Parameter folders: the folders with a subfolder `thumbnailers`; the first file of each name counts.
    init(folders: [String] = BaseDirectory.shared()) {
        var programs: [Program] = []
        var names: Set<String> = []
        for folder in folders.map({ $0 + "/thumbnailers" }) {
            let files = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
            for file in files.prefix(Self.most) where file.hasSuffix(".thumbnailer") && names.insert(file).inserted {
                guard let data = FileManager.default.contents(atPath: "\(folder)/\(file)"), data.count < Self.largest
                else { continue }
                if let program = Self.program(String(decoding: data, as: UTF8.self), named: file) {
                    programs.append(program)
                }
            }
        }
        self.programs = programs
    }

    private static let most = 1_000
    private static let largest = 256 << 10

    /// Nil: the text is no thumbnailer, or its program is not installed.
    static func program(_ text: String, named name: String) -> Program? {
        var keys: [String: String] = [:]
        var isInside = false
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.hasPrefix("[") { isInside = line == "[Thumbnailer Entry]" }
            guard isInside, !line.hasPrefix("#"), let equals = line.firstIndex(of: "=") else { continue }
            let key = line[..<equals].trimmingCharacters(in: .whitespaces)
            keys[key] = line[line.index(after: equals)...].trimmingCharacters(in: .whitespaces)
        }
        guard let exec = keys["Exec"], let words = words(exec), let first = words.first,
            words.contains(where: { $0.contains("%o") }),
            words.contains(where: { $0.contains("%i") || $0.contains("%u") })
        else { return nil }
        for program in [keys["TryExec"], first].compactMap({ $0 }) where !isInstalled(program) { return nil }
        let types = (keys["MimeType"] ?? "").split(separator: ";").map {
            $0.trimmingCharacters(in: .whitespaces).lowercased()
        }
        return Program(name: name, words: words, mimeTypes: Set(types))
    }

    /// Splits a command line with the quoting of the Desktop Entry Specification; nil: a quote is not closed.
    static func words(_ exec: String) -> [String]? {
        var words: [String] = []
        var word: String?
        var (isQuoted, isEscaped) = (false, false)
        for character in exec {
            if isEscaped {
                word = (word ?? "") + String(character)
                isEscaped = false
            } else if isQuoted, character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
                word = word ?? ""
            } else if !isQuoted, character == " " || character == "\t" {
                if let done = word { words.append(done) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        if isQuoted || isEscaped { return nil }
        if let done = word { words.append(done) }
        return words
    }

    private static func isInstalled(_ program: String) -> Bool {
        if program.contains("/") { return access(program, X_OK) == 0 }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        return path.split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
    }

    /// The thumbnailers for a MIME type, in the order in which to try them.
    func programs(for mimeType: String) -> [Program] { programs.filter { $0.mimeTypes.contains(mimeType) } }
}

/// Runs the desktop's thumbnailers on fully downloaded documents, with limits on time, memory and output.
final class ThumbnailerRun: Sendable {
    private let folder: String
    private let limit: Duration
    /// Bytes of address space for a thumbnailer.
    private static let memory: UInt64 = 4 << 30
    /// Bytes of a file that a thumbnailer may write.
    private static let output: UInt64 = 64 << 20
    /// Pixels: the largest size in a cache of thumbnails, so that each picture is made once.
    private static let pixels = 1_024
    /// Bytes of the largest document to copy for a thumbnailer.
    private static let mostCopied: Int64 = 1 << 30

    /// - Parameter stateDirectory: the folder for temporary copies of documents.
    init(stateDirectory: String, limit: Duration = .seconds(20)) {
        folder = stateDirectory + "/thumbnailer"
        self.limit = limit
        // (Remove what a killed daemon left.)
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Blocks: call this from your own thread.
    ///
    /// - Parameter name: the document's name, whose extension tells thumbnailers the type.
    /// - Returns: nil: the thumbnailer made no picture, or the document is too large.
    /// - Throws: there is no room for a copy of the document.
    func picture(of content: ContentFile, named name: String, by program: DesktopThumbnailers.Program) throws -> Raster?
    {
        let place = "\(folder)/\(UUID().uuidString)"
        // Use two folders, so that a document's name cannot clash with the picture's.
        let (document, output) = ("\(place)/in/\(name)", "\(place)/out/picture.png")
        defer { try? FileManager.default.removeItem(atPath: place) }
        for part in ["in", "out"] {
            try FileManager.default.createDirectory(
                atPath: "\(place)/\(part)", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        guard try Self.copy(content, to: document) else { return nil }
        let words = program.words.map { Self.filled($0, document: document, output: output) }
        // (The thumbnailer must not cause downloads, whatever it opens.)
        let child = ChildProcess(
            ["env", "HYDRANT_DOWNLOADS=deny", "nice", "-n", "19"] + words, limit: limit, mostPrinted: 4 << 10,
            bounds: ChildProcess.Bounds(
                memory: Self.memory, seconds: UInt64(limit.components.seconds) + 1, file: Self.output))
        guard let ending = try? child.run(reading: .standardOutput), ending.status == 0 else { return nil }
        var status = stat()
        guard lstat(output, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= Int64(Self.output),
            let data = FileManager.default.contents(atPath: output)
        else { return nil }
        return Raster(data)
    }

    /// Copies the document, so that the thumbnailer cannot change the original.
    ///
    /// - Returns: false: the document is too large to copy, and the file system cannot share the bytes.
    private static func copy(_ content: ContentFile, to path: String) throws -> Bool {
        var status = stat()
        guard fstat(content.descriptor, &status) == 0 else { throw failure }
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure }
        defer { close(file) }
        if clinux_share(content.descriptor, file) == 0 { return true }
        let size = Int64(status.st_size)
        guard size <= mostCopied else { return false }
        // (Copies for thumbnailers must not fill the disk.)
        var room = statvfs()
        guard fstatvfs(file, &room) == 0, Int64(clamping: room.f_bavail) * Int64(room.f_frsize) / 2 > size else {
            throw POSIXError(.ENOSPC)
        }
        var done: Int64 = 0
        while done < size {
            let count = clinux_copy_range(content.descriptor, done, file, done, Int(size - done))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure }
            done += Int64(count)
        }
        return true
    }

    private static var failure: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }

    private static func filled(_ word: String, document: String, output: String) -> String {
        var (filled, isPercent) = ("", false)
        for character in word {
            guard isPercent else {
                if character == "%" { isPercent = true } else { filled.append(character) }
                continue
            }
            isPercent = false
            switch character {
            case "i": filled += document
            case "u": filled += "file://" + DocumentURL.encode(Array(document.utf8))
            case "o": filled += output
            case "s": filled += "\(pixels)"
            case "%": filled += "%"
            default: break
            }
        }
        return filled
    }
}
