import CLinux
import ControlAPI
import Foundation

/// Writes a package, so that it stays the same folder with the same documents in it, of which only those that differ are
/// written. Blocks.
///
/// What is new is made in a folder of its own first, and on disk. Then each file is exchanged with the one that it replaces
/// (RENAME_EXCHANGE), which takes no time worth speaking of; if one of these fails, those before are exchanged back. What is
/// removed goes last. Whoever coordinates sees all of it or nothing.
struct PackageWriter {
    private let package: String
    private let staging: String
    private let writer: FileWriter

    private enum Step {
        /// A staged file or folder takes the place of what is there.
        case exchange(staged: String, target: String)
        /// The same, of a document whose bytes are not here: they are not brought only to be thrown away.
        case replace(staged: String, target: String)
        case add(staged: String, target: String)
        case remove(target: String)

        var order: Int {
            switch self {
            case .add: 0
            case .exchange: 1
            case .replace: 2
            case .remove: 3
            }
        }
    }
    private var steps: [Step] = []
    private var staged = 0
    private let attributes: DocumentAttributes
    /// For tests: called with the number of each step before that.
    private let willCarryOut: (Int) throws -> Void

    private init(
        _ path: String, _ attributes: DocumentAttributes, willCarryOut: @escaping (Int) throws -> Void = { _ in }
    ) {
        self.willCarryOut = willCarryOut
        self.attributes = attributes
        package = path
        staging = FilePath.temporary(in: FilePath.folder(path))
        writer = FileWriter(attributes: DocumentAttributes())
    }

    /// - Throws: ``DocumentError/Code/exists``.
    static func create(
        _ children: [String: DocumentContents], at path: String, _ attributes: DocumentAttributes
    ) throws -> KnownContents {
        var writer = PackageWriter(path, attributes)
        return try writer.withStaging { writer in
            let whole = FilePath.child(writer.staging, "package")
            let known = try writer.makeFolder(whole, children)
            try writer.setAttributes(whole)
            guard FilePath.moveNew(whole, to: path) == 0 else { throw FileWriter.failure(path) }
            FilePath.syncFolder(FilePath.folder(path))
            return known
        }
    }

    static func replace(
        _ path: String, with children: [String: DocumentContents], known: KnownContents?,
        _ attributes: DocumentAttributes, willCarryOut: @escaping (Int) throws -> Void = { _ in }
    ) throws -> KnownContents {
        var writer = PackageWriter(path, attributes, willCarryOut: willCarryOut)
        return try writer.withStaging { writer in
            let known = try writer.plan(children, path, known)
            try writer.carryOut()
            try writer.setAttributes(path)
            return known
        }
    }

    /// A file takes the place of a package, or the reverse.
    static func exchange(
        _ path: String, with contents: DocumentContents, _ attributes: DocumentAttributes
    ) throws -> KnownContents {
        var writer = PackageWriter(path, attributes)
        return try writer.withStaging { writer in
            let known = try writer.stage(contents, .exchange(staged: writer.nextStaged, target: path), old: nil)
            try writer.carryOut()
            try writer.setAttributes(path)
            return known
        }
    }

    private mutating func withStaging<T>(_ body: (inout PackageWriter) throws -> T) throws -> T {
        guard ByteText.withPath(staging, { mkdir($0, 0o700) }) == 0 else {
            throw FileWriter.failure(package, "; the folder must be writable")
        }
        defer { try? FilePath.remove(staging) }
        return try body(&self)
    }

    // MARK: What there is to do

    private var nextStaged: String { FilePath.child(staging, "\(staged)") }

    private mutating func stage(_ contents: DocumentContents, _ step: Step, old: String?) throws -> KnownContents {
        let place = nextStaged
        staged += 1
        steps.append(step)
        switch contents {
        case .data(let data): return try writer.stage(data, at: place, attributesOf: old)
        case .package(let children): return try makeFolder(place, children)
        }
    }

    private func makeFolder(_ path: String, _ children: [String: DocumentContents]) throws -> KnownContents {
        guard ByteText.withPath(path, { mkdir($0, 0o777) }) == 0 else { throw FileWriter.failure(path) }
        var known: [String: KnownContents] = [:]
        for (name, child) in children {
            let place = FilePath.child(path, name)
            switch child {
            case .data(let data): known[name] = try writer.stage(data, at: place, attributesOf: nil)
            case .package(let inner): known[name] = try makeFolder(place, inner)
            }
        }
        FilePath.syncFolder(path)
        return .package(known)
    }

    private mutating func plan(
        _ children: [String: DocumentContents], _ folder: String, _ known: KnownContents?
    ) throws -> KnownContents {
        var knownChildren: [String: KnownContents] = [:]
        if case .package(let children)? = known { knownChildren = children }
        var result: [String: KnownContents] = [:]
        let there = Set(try FilePath.names(in: folder).filter(FileReader.belongs))
        for (name, child) in children.sorted(by: { $0.key < $1.key }) {
            let target = FilePath.child(folder, name)
            if there.contains(name) {
                result[name] = try plan(child, at: target, knownChildren[name])
            } else {
                result[name] = try stage(child, .add(staged: nextStaged, target: target), old: nil)
            }
        }
        for name in there.subtracting(children.keys).sorted() {
            steps.append(.remove(target: FilePath.child(folder, name)))
        }
        return .package(result)
    }

    private mutating func plan(
        _ child: DocumentContents, at target: String, _ known: KnownContents?
    ) throws -> KnownContents {
        let status = try FileReader.status(target)
        switch child {
        case .package(let children) where FileReader.isFolder(status): return try plan(children, target, known)
        case .data where FileReader.isFile(status):
            if case .file(let stamp, let digest)? = known, stamp == FileStamp(status), digest == child.digest {
                return .file(stamp, digest: digest)
            }
            let isHere = Self.isHere(target)
            let step: Step =
                isHere
                ? .exchange(staged: nextStaged, target: target) : .replace(staged: nextStaged, target: target)
            return try stage(child, step, old: target)
        default: return try stage(child, .exchange(staged: nextStaged, target: target), old: nil)
        }
    }

    /// Outside of a mount everything is.
    private static func isHere(_ path: String) -> Bool {
        var state = [UInt8](repeating: 0, count: 64)
        let count = ByteText.withPath(path) { lgetxattr($0, "user.hydrant.state", &state, state.count) }
        return count < 0 || state.prefix(count).starts(with: Array("downloaded".utf8))
    }

    /// Those of a package are its folder's.
    private func setAttributes(_ path: String) throws {
        if attributes == DocumentAttributes() { return }
        let descriptor = ByteText.withPath(path) { Glibc.open($0, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw FileWriter.failure(path) }
        defer { close(descriptor) }
        try FileWriter(attributes: attributes).setAttributes(on: descriptor, path)
    }

    // MARK: Doing it

    private func carryOut() throws {
        var done: [Step] = []
        do {
            for (number, step) in steps.sorted(by: { $0.order < $1.order }).enumerated() {
                try willCarryOut(number)
                try Self.carryOut(step)
                done.append(step)
            }
        } catch {
            for step in done.reversed() { Self.undo(step) }
            throw error
        }
        FilePath.syncFolder(package)
    }

    private static func carryOut(_ step: Step) throws {
        switch step {
        case .add(let staged, let target):
            guard FilePath.moveNew(staged, to: target) == 0 else { throw FileWriter.failure(target) }
        case .exchange(let staged, let target):
            guard FilePath.exchange(staged, target) == 0 else { throw FileWriter.failure(target) }
        case .replace(let staged, let target):
            guard FilePath.move(staged, over: target) == 0 else { throw FileWriter.failure(target) }
        case .remove(let target): try FilePath.remove(target)
        }
    }

    /// (What was replaced without being here, and what was removed, cannot come back; that is why they are last.)
    private static func undo(_ step: Step) {
        switch step {
        case .add(let staged, let target): _ = FilePath.moveNew(target, to: staged)
        case .exchange(let staged, let target): _ = FilePath.exchange(staged, target)
        case .replace, .remove: break
        }
    }
}
