import CLinux
import ControlAPI
import Foundation

/// Writes a package, which stays the same folder with the same documents; writes only documents that differ. Blocks.
///
/// Writes new files to a folder of their own first, durably. Then exchanges each file with the one that it replaces
/// (RENAME_EXCHANGE), which is quick; if an exchange fails, or a file has changed meanwhile, exchanges the earlier ones
/// back. Removes files last. Programs that coordinate see all of the save or nothing.
struct PackageWriter {
    private let package: String
    private let staging: String
    private let writer: FileWriter

    private struct Step {
        enum Kind: Int {
            case add
            /// Exchange a staged file or folder with the existing one.
            case exchange
            /// Rename a staged file over a document whose bytes are not here; an exchange would download these.
            case replace
            /// Move the existing file to the staging folder.
            case remove
        }
        var kind: Kind
        var staged: String
        var target: String
        /// The state that the existing file must have; nil: any.
        var known: KnownContents?
    }
    private var steps: [Step] = []
    private var staged = 0
    private let attributes: DocumentAttributes
    /// Whether replaced and removed files must be unchanged.
    private let isBound: Bool
    /// For tests: called before each step, with its number.
    private let willCarryOut: (Int) throws -> Void

    private init(
        _ path: String, _ attributes: DocumentAttributes, isBound: Bool = false,
        willCarryOut: @escaping (Int) throws -> Void = { _ in }
    ) {
        self.willCarryOut = willCarryOut
        self.isBound = isBound
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

    /// - Throws: ``AnotherVersion``.
    static func replace(
        _ path: String, with children: [String: DocumentContents], known: KnownContents?,
        _ attributes: DocumentAttributes, willCarryOut: @escaping (Int) throws -> Void = { _ in }
    ) throws -> KnownContents {
        var writer = PackageWriter(path, attributes, isBound: known != nil, willCarryOut: willCarryOut)
        return try writer.withStaging { writer in
            let new = try writer.plan(children, path, known)
            // Fail before anything is in its place.
            try writer.setAttributes(path)
            try writer.carryOut()
            return new
        }
    }

    /// Replaces a package by a file, or a file by a package.
    static func exchange(
        _ path: String, with contents: DocumentContents, known: KnownContents?, _ attributes: DocumentAttributes
    ) throws -> KnownContents {
        var writer = PackageWriter(path, attributes, isBound: known != nil)
        return try writer.withStaging { writer in
            let new = try writer.stage(contents, .exchange, path, known)
            try writer.setAttributes(FilePath.child(writer.staging, "0"))
            try writer.carryOut()
            return new
        }
    }

    private mutating func withStaging<T>(_ body: (inout PackageWriter) throws -> T) throws -> T {
        guard ByteText.withPath(staging, { mkdir($0, 0o700) }) == 0 else {
            throw FileWriter.failure(package, "; the folder must be writable")
        }
        defer { try? FilePath.remove(staging) }
        return try body(&self)
    }

    // MARK: Planning

    private mutating func addStep(_ kind: Step.Kind, _ target: String, _ known: KnownContents?) -> String {
        let place = FilePath.child(staging, "\(staged)")
        staged += 1
        steps.append(Step(kind: kind, staged: place, target: target, known: known))
        return place
    }

    private mutating func stage(
        _ contents: DocumentContents, _ kind: Step.Kind, _ target: String, _ known: KnownContents? = nil,
        old: String? = nil
    ) throws -> KnownContents {
        let place = addStep(kind, target, known)
        switch contents {
        case .data(let data): return try writer.stage(data, at: place, for: target, attributesOf: old)
        case .package(let children): return try makeFolder(place, children)
        }
    }

    private func makeFolder(_ path: String, _ children: [String: DocumentContents]) throws -> KnownContents {
        guard ByteText.withPath(path, { mkdir($0, 0o777) }) == 0 else { throw FileWriter.failure(path) }
        var known: [String: KnownContents] = [:]
        for (name, child) in children {
            let place = FilePath.child(path, name)
            switch child {
            case .data(let data): known[name] = try writer.stage(data, at: place, for: package, attributesOf: nil)
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
        if isBound && there != Set(knownChildren.keys) { throw AnotherVersion() }
        for (name, child) in children.sorted(by: { $0.key < $1.key }) {
            // The existing name may have other bytes: the same letters in another Unicode normalization.
            if let index = there.firstIndex(of: name) {
                let target = FilePath.child(folder, there[index])
                result[name] = try plan(child, at: target, knownChildren[name])
            } else {
                result[name] = try stage(child, .add, FilePath.child(folder, name))
            }
        }
        for name in there.subtracting(children.keys).sorted() {
            _ = addStep(.remove, FilePath.child(folder, name), knownChildren[name])
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
            return try stage(child, Self.isHere(target) ? .exchange : .replace, target, known, old: target)
        default: return try stage(child, .exchange, target, known)
        }
    }

    /// Whether a file's bytes are here; always true outside of a mount.
    private static func isHere(_ path: String) -> Bool {
        var state = [UInt8](repeating: 0, count: 64)
        let count = ByteText.withPath(path) { lgetxattr($0, "user.hydrant.state", &state, state.count) }
        return count < 0 || state.prefix(count).starts(with: Array("downloaded".utf8))
    }

    /// Sets the package's attributes on its folder.
    private func setAttributes(_ path: String) throws {
        if attributes == DocumentAttributes() { return }
        let descriptor = ByteText.withPath(path) { Glibc.open($0, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw FileWriter.failure(path) }
        defer { close(descriptor) }
        try FileWriter(attributes: attributes).setAttributes(on: descriptor, path)
    }

    // MARK: Carrying out

    private func carryOut() throws {
        var done: [Step] = []
        do {
            for (number, step) in steps.sorted(by: { $0.kind.rawValue < $1.kind.rawValue }).enumerated() {
                try willCarryOut(number)
                try carryOut(step)
                done.append(step)
            }
        } catch {
            for step in done.reversed() { undo(step) }
            throw error
        }
        FilePath.syncFolder(package)
    }

    private func carryOut(_ step: Step) throws {
        let (staged, target) = (step.staged, step.target)
        try require(step.known, at: target)
        switch step.kind {
        case .add:
            guard FilePath.moveNew(staged, to: target) == 0 else {
                if isBound && errno == EEXIST { throw AnotherVersion() }
                throw FileWriter.failure(target)
            }
        case .exchange:
            guard FilePath.exchange(staged, target) == 0 else {
                throw FileWriter.failure(
                    target,
                    errno == EINVAL ? "; its file system cannot exchange files; save the document elsewhere" : "")
            }
        case .replace: guard FilePath.move(staged, over: target) == 0 else { throw FileWriter.failure(target) }
        case .remove where FilePath.isInMount(target): return try FilePath.remove(target)
        case .remove: guard FilePath.moveNew(target, to: staged) == 0 else { throw FileWriter.failure(target) }
        }
        if step.kind == .replace || step.kind == .add { return }
        // Check again, because somebody may have written the file before the exchange.
        do { try require(step.known, at: staged) } catch {
            undo(step)
            throw error
        }
    }

    private func require(_ known: KnownContents?, at path: String) throws {
        if let known, (try? FileReader.isAsKnown(path, known)) != true { throw AnotherVersion() }
    }

    /// Undoes a step. A replaced placeholder, and in a mount a removed file, cannot be brought back, so these steps
    /// come last.
    private func undo(_ step: Step) {
        switch step.kind {
        case .add: _ = FilePath.moveNew(step.target, to: step.staged)
        case .exchange: _ = FilePath.exchange(step.staged, step.target)
        case .remove: _ = FilePath.moveNew(step.staged, to: step.target)
        case .replace: break
        }
    }
}
