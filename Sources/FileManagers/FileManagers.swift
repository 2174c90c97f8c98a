import Foundation
import Surroundings

/// The extensions for this user's file managers: writes them, removes them, and says which are there.
package struct FileManagers: Sendable {
    /// The user's folder of data.
    private let dataHome: String
    private let files: [DesktopFile]
    /// What was written, to tell later whether somebody has changed it.
    private static let record = "installed.json"

    /// - Parameters:
    ///   - dataHome: `XDG_DATA_HOME`, absolute.
    ///   - program: the path of `hydrant`, which the extensions run.
    package init(dataHome: String, program: String) {
        self.dataHome = dataHome
        files = DesktopFile.all(dataHome: dataHome, program: program)
    }

    /// A file, and what is the matter with it.
    package struct Report: Sendable, Equatable, Codable {
        package enum State: String, Sendable, Codable {
            /// As this version of Hydrant writes it.
            case installed
            case missing
            /// As another version of Hydrant has written it, or this one at another place.
            case outdated
            /// Somebody has changed it; Hydrant leaves it alone.
            case changed
            /// Written now.
            case written
            /// Removed now.
            case removed
        }
        /// Absolute.
        package var path: String
        package var state: State
    }

    private struct Record: Codable {
        /// The hashes of files' contents, by their paths.
        var files: [String: String] = [:]
        /// Folders that did not exist before.
        var folders: [String] = []
    }

    // MARK: What is there

    package func status() throws(FileManagersError) -> [Report] {
        let record = try readRecord()
        var reports: [Report] = []
        for file in files { reports.append(Report(path: absolute(file.path), state: try state(of: file, record))) }
        return reports
    }

    private func state(of file: DesktopFile, _ record: Record) throws(FileManagersError) -> Report.State {
        let (folder, name) = Self.parts(file.path)
        guard let opened = try DesktopFolder.open(folder, in: dataHome) else { return .missing }
        switch try opened.contents(of: name) {
        case .missing: return .missing
        case .file(file.bytes): return .installed
        case .file(let bytes): return record.files[file.path] == StableHash(bytes).text ? .outdated : .changed
        case .other: return .changed
        }
    }

    // MARK: Changes

    /// Writes what is missing or outdated. A file that somebody has changed stays as it is.
    package func install() throws(FileManagersError) -> [Report] {
        var record = try readRecord()
        var reports: [Report] = []
        for file in files {
            var state = try state(of: file, record)
            if state == .missing || state == .outdated {
                let (folder, name) = Self.parts(file.path)
                let opened = try DesktopFolder.open(folder, in: dataHome) { made in record.folders.append(made) }
                // (Noted before: after a crash the file counts as Hydrant's own.)
                record.files[file.path] = StableHash(file.bytes).text
                try write(&record)
                try opened?.write(file.bytes, to: name, isExecutable: file.isExecutable)
                state = .written
            }
            reports.append(Report(path: absolute(file.path), state: state))
        }
        // Files of another version.
        let present = Set(files.map(\.path))
        for path in record.files.keys.sorted() where !present.contains(path) {
            reports += try remove(path, record)
            record.files[path] = nil
        }
        try write(&record)
        return reports
    }

    /// Removes what Hydrant has written. A file that somebody has changed stays, and is reported as changed.
    package func remove() throws(FileManagersError) -> [Report] {
        let record = try readRecord()
        var reports: [Report] = []
        for path in Set(files.map(\.path) + record.files.keys).sorted() { reports += try remove(path, record) }
        if let folder = try DesktopFolder.open(DesktopFile.shared, in: dataHome) { try folder.remove(Self.record) }
        for path in Set(record.folders).sorted(by: { $0.utf8.count > $1.utf8.count }) where Self.isRelative(path) {
            let (folder, name) = Self.parts(path)
            try DesktopFolder.open(folder, in: dataHome)?.removeFolder(name)
        }
        return reports
    }

    private func remove(_ path: String, _ record: Record) throws(FileManagersError) -> [Report] {
        let (folder, name) = Self.parts(path)
        guard let opened = try DesktopFolder.open(folder, in: dataHome) else { return [] }
        let isOurs: Bool
        switch try opened.contents(of: name) {
        case .missing: return []
        case .file(let bytes):
            isOurs =
                record.files[path] == StableHash(bytes).text || files.contains { $0.path == path && $0.bytes == bytes }
        case .other: isOurs = false
        }
        if isOurs {
            try opened.remove(name)
            try removeCompiled(name, folder)
        }
        return [Report(path: absolute(path), state: isOurs ? .removed : .changed)]
    }

    /// What Python has made of a module of ours.
    private func removeCompiled(_ name: String, _ folder: String) throws(FileManagersError) {
        guard name.hasSuffix(".py"), let cache = try DesktopFolder.open(folder + "/__pycache__", in: dataHome) else {
            return
        }
        for compiled in cache.names()
        where compiled.hasPrefix(name.dropLast(2) + "cpython-") && compiled.hasSuffix(".pyc") {
            try cache.remove(compiled)
        }
        try DesktopFolder.open(folder, in: dataHome)?.removeFolder("__pycache__")
    }

    // MARK: The record

    private func readRecord() throws(FileManagersError) -> Record {
        guard let folder = try DesktopFolder.open(DesktopFile.shared, in: dataHome),
            case .file(let bytes) = try folder.contents(of: Self.record),
            var record = try? JSONDecoder().decode(Record.self, from: Data(bytes))
        else { return Record() }
        record.files = record.files.filter { Self.isRelative($0.key) }
        return record
    }

    private func write(_ record: inout Record) throws(FileManagersError) {
        var made: [String] = []
        guard let folder = try DesktopFolder.open(DesktopFile.shared, in: dataHome, made: { made.append($0) }) else {
            return
        }
        record.folders += made
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // Encoding texts cannot fail.
        guard let data = try? encoder.encode(record) else { return }
        try folder.write(Array(data), to: Self.record)
    }

    private func absolute(_ path: String) -> String { "\(dataHome)/\(path)" }

    private static func parts(_ path: String) -> (folder: String, name: String) {
        let folder = (path as NSString).deletingLastPathComponent
        return (folder, (path as NSString).lastPathComponent)
    }

    /// Whether a path of the record leads nowhere but into the folder of data.
    private static func isRelative(_ path: String) -> Bool {
        let names = path.split(separator: "/", omittingEmptySubsequences: false)
        return !names.isEmpty && names.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
    }
}
