import CLinux
import ChildProcess
import ContentStore
import Foundation
import Pictures
import Surroundings
import Synchronization

/// The programs of this machine that make pictures of documents, as desktops register them: files `thumbnailers/*.thumbnailer` in the
/// folders of shared data, with the types that they know and how they are called.
///
/// Source: GNOME, gnome-desktop, "Thumbnailers"; the keys are those of the Desktop Entry Specification.
struct DesktopThumbnailers: Sendable {
    struct Program: Sendable, Equatable {
        /// For messages.
        var name: String
        /// With %u, %i, %o and %s.
        var words: [String]
        var mimeTypes: Set<String>
    }
    let programs: [Program]

    /// - Parameter folders: that hold `thumbnailers`; of files of one name the first counts.
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

    /// Nil: it is none, or what it names is not installed.
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

    /// As the Desktop Entry Specification quotes them; nil: a quote has no end.
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

    /// Those that know a document of this type, in the order in which they are tried.
    func programs(for mimeType: String) -> [Program] { programs.filter { $0.mimeTypes.contains(mimeType) } }
}

/// Has pictures made of documents that are all here, by the programs of the desktop: each bounded in time, memory and output.
final class ThumbnailerRun: Sendable {
    private let folder: String
    private let limit: Duration
    /// In bytes: of the address space of one.
    private static let memory: UInt64 = 4 << 30
    /// Of a file that it writes.
    private static let output: UInt64 = 64 << 20
    /// A picture is made once, as large as any cache has it.
    private static let pixels = 1_024
    /// In bytes: a larger document is not copied for one.
    private static let mostCopied: Int64 = 1 << 30

    /// - Parameter stateDirectory: where copies of documents are for the time that a picture of them is made.
    init(stateDirectory: String, limit: Duration = .seconds(20)) {
        folder = stateDirectory + "/thumbnailer"
        self.limit = limit
        // (What a killed daemon has left.)
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Blocks: call it from a thread of your own.
    ///
    /// - Parameter name: the document's, by whose end programs know what it is.
    /// - Returns: nil: the program could make none, or the document is too large.
    /// - Throws: there was no place for a copy of the document.
    func picture(of content: ContentFile, named name: String, by program: DesktopThumbnailers.Program) throws -> Raster?
    {
        let place = "\(folder)/\(UUID().uuidString)"
        // Apart, so that no name of a document is that of the picture.
        let (document, output) = ("\(place)/in/\(name)", "\(place)/out/picture.png")
        defer { try? FileManager.default.removeItem(atPath: place) }
        for part in ["in", "out"] {
            try FileManager.default.createDirectory(
                atPath: "\(place)/\(part)", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        guard try Self.copy(content, to: document) else { return nil }
        let words = program.words.map { Self.filled($0, document: document, output: output) }
        // (It is not to have anything downloaded, wherever else it looks.)
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

    /// A copy: whatever a program does to it, the document stays as it is.
    ///
    /// - Returns: false: it is too large for one, where the file system does not share the bytes.
    private static func copy(_ content: ContentFile, to path: String) throws -> Bool {
        var status = stat()
        guard fstat(content.descriptor, &status) == 0 else { throw failure }
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure }
        defer { close(file) }
        if clinux_share(content.descriptor, file) == 0 { return true }
        let size = Int64(status.st_size)
        guard size <= mostCopied else { return false }
        // (What a thumbnailer is copied for is not to fill the disk.)
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
