import ChildProcess
public import Foundation
import Surroundings
import UniformTypes

/// The document types that programs have registered for this user.
///
/// From a manifest the registry makes a desktop entry, a package of shared-mime-info, icons in the theme hicolor and,
/// for types that the program owns, a default in `mimeapps.list`. All are in `$XDG_DATA_HOME`, so that file managers,
/// `gio` and `xdg-mime` know the program, and the user's own choice (in `$XDG_CONFIG_HOME`) takes precedence.
public struct DocumentTypeRegistry: Sendable {
    private let folder: String

    /// This user's registry.
    ///
    /// - Throws: ``DocumentInteractionError`` when the user has no data folder.
    public init() throws {
        guard let folder = BaseDirectory.data.path() else {
            throw DocumentInteractionError(.failed, BaseDirectory.data.missing)
        }
        self.folder = folder
    }

    private var records: String { folder + "/" + RegisteredTypes.folder }
    private func record(_ identifier: String) -> String { "\(records)/\(identifier).toml" }
    private func entry(_ identifier: String) -> String { "\(folder)/applications/\(identifier).desktop" }
    private func package(_ identifier: String) -> String { "\(folder)/mime/packages/\(identifier).xml" }
    private func service(_ identifier: String) -> String { "\(folder)/dbus-1/services/\(identifier).service" }
    private var associations: String { folder + "/applications/mimeapps.list" }

    /// All registered manifests, sorted by identifier. Unreadable ones are left out.
    public func registered() async -> [DocumentTypesManifest] {
        (try? await onThread { manifests() }) ?? []
    }

    private func manifests() -> [DocumentTypesManifest] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: records)) ?? []
        return names.filter { $0.hasSuffix(".toml") }.sorted().compactMap { name in
            try? DocumentTypesManifest(contentsOf: URL(filePath: "\(records)/\(name)", directoryHint: .notDirectory))
        }
    }

    /// Registers a program, in place of its earlier registration. Other programs see the registration when this
    /// returns.
    ///
    /// - Parameter url: the manifest; paths in it are relative to its folder.
    /// - Returns: the manifest, and remarks for people.
    /// - Throws: ``DocumentInteractionError``; ``DocumentInteractionError/Code/badManifest``.
    @discardableResult
    public func register(manifestAt url: URL) async throws -> (manifest: DocumentTypesManifest, notes: [String]) {
        try await onThread {
            let manifest = try DocumentTypesManifest(contentsOf: url)
            let beside = (url.path(percentEncoded: false) as NSString).deletingLastPathComponent
            return (manifest, try locked { try register(manifest, beside) })
        }
    }

    /// Removes a program's registration.
    ///
    /// - Returns: remarks for people.
    /// - Throws: ``DocumentInteractionError``, also when the program is not registered.
    @discardableResult
    public func unregister(_ identifier: String) async throws -> [String] {
        try await onThread {
            try DocumentTypesManifest.check(identifier: identifier)
            return try locked {
                guard FileManager.default.fileExists(atPath: record(identifier)) else {
                    throw DocumentInteractionError(
                        .failed, "\(identifier): has registered nothing; hydrant types lists the programs that have")
                }
                let manifest = try? DocumentTypesManifest(
                    contentsOf: URL(filePath: record(identifier), directoryHint: .notDirectory))
                try remove(identifier, manifest)
                unlink(record(identifier))
                return refresh(manifest, isRegistered: false)
            }
        }
    }

    // MARK: Files

    private func register(_ manifest: DocumentTypesManifest, _ beside: String) throws -> [String] {
        let identifier = manifest.identifier
        let executable = try executable(manifest.program)
        let services = manifest.busArguments == nil ? [] : [service(identifier)]
        for path in [entry(identifier), package(identifier)] + services where isOthers(path) {
            throw DocumentInteractionError(
                .failed, "\(path): exists, and hydrant did not make it; remove it, or choose another identifier")
        }
        for other in manifests() where other.identifier != identifier {
            if let type = manifest.declaredTypes.first(where: { type in
                other.declaredTypes.contains { $0.identifier.lowercased() == type.identifier.lowercased() }
            }) {
                throw DocumentInteractionError(
                    .failed, "\(type.identifier): \(other.identifier) has declared it; name it in documents only")
            }
        }
        // Do everything first that may fail because of the manifest.
        let icons = TypeIconFiles(folder: folder, identifier: identifier)
        let program = try icons.plan(manifest.icons, named: identifier, kind: "apps", beside: beside)
        var names: [String: String] = [:]
        for document in manifest.documents where !document.icons.isEmpty {
            for type in manifest.declaredTypes where document.mimeTypes.contains(type.mimeType) {
                let name = MIMEPackage.iconName(type.mimeType)
                names[type.mimeType] = try icons.plan(document.icons, named: name, kind: "mimetypes", beside: beside)
            }
        }
        try icons.check()
        let old = try? DocumentTypesManifest(
            contentsOf: URL(filePath: record(identifier), directoryHint: .notDirectory))
        try remove(identifier, old)
        // Write the record first, because removal goes by it.
        try write(manifest.text, to: record(identifier))
        try icons.install()
        try write(MIMEPackage.xml(manifest, icons: names), to: package(identifier))
        try write(declarations(manifest), to: "\(records)/\(identifier).json")
        if let text = DesktopEntry.busService(manifest, executable: executable) {
            try write(text, to: service(identifier))
        }
        try write(DesktopEntry.text(manifest, icon: program, executable: executable), to: entry(identifier))
        try associate(identifier, with: DesktopEntry.owned(manifest))
        return refresh(manifest, isRegistered: true, before: old)
    }

    /// Whether a file exists without our mark.
    private func isOthers(_ path: String) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { return false }
        if path.hasSuffix(".xml") {
            guard let read = try? FileBytes.read(path, most: 1_024) else { return true }
            return !String(decoding: read.bytes, as: UTF8.self).contains(MIMEPackage.mark)
        }
        let group = path.hasSuffix(".service") ? DesktopEntry.serviceGroup : DesktopEntry.group
        return KeyFile(path: path)?.string(group, DesktopEntry.mark) != "true"
    }

    /// Removes all our files but the record.
    private func remove(_ identifier: String, _ manifest: DocumentTypesManifest?) throws {
        // Do first what may fail.
        try associate(identifier, with: [])
        for path in [entry(identifier), package(identifier), service(identifier)] where !isOthers(path) { unlink(path) }
        unlink("\(records)/\(identifier).json")
        TypeIconFiles(folder: folder, identifier: identifier).remove()
    }

    private func executable(_ name: String) throws -> String {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        let candidates = name.hasPrefix("/") ? [name] : folders.map { "\($0)/\(name)" }
        guard let found = candidates.first(where: { $0.hasPrefix("/") && access($0, X_OK) == 0 }) else {
            throw DocumentInteractionError(.badManifest, "program: \(name): no such program")
        }
        return found
    }

    private func declarations(_ manifest: DocumentTypesManifest) throws -> String {
        let entries = manifest.declaredTypes.map { type in
            RegisteredTypes.Entry(
                identifier: type.identifier, conformsTo: type.conformsTo.map(\.identifier), mimeTypes: [type.mimeType],
                extensions: type.extensions)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(entries), as: UTF8.self)
    }

    /// Makes the program a default for these types, behind earlier defaults, and for no other types.
    private func associate(_ identifier: String, with mimeTypes: [String]) throws {
        let group = "Default Applications"
        guard let file = KeyFile(path: associations) ?? (access(associations, F_OK) == 0 ? nil : KeyFile()) else {
            throw DocumentInteractionError(.failed, "\(associations): malformed; correct it, or remove it")
        }
        let before = file.text
        let id = identifier + ".desktop"
        for type in Set(file.keys(group) + mimeTypes) {
            let others = file.strings(group, type).filter { $0 != id }
            file.set(group, type, mimeTypes.contains(type) ? others + [id] : others)
        }
        let text = file.text
        if text != before { try write(text, to: associations) }
    }

    private func write(_ text: String, to path: String) throws {
        do {
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: URL(filePath: path, directoryHint: .notDirectory), options: .atomic)
        } catch { throw DocumentInteractionError(.failed, "\(path): \(error.localizedDescription)") }
    }

    /// Runs a body under a lock, because it reads, changes and writes files.
    private func locked<T>(_ body: () throws -> T) throws -> T {
        try? FileManager.default.createDirectory(atPath: records, withIntermediateDirectories: true)
        let lock = open("\(records)/.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw FileBytes.failure(records) }
        defer { close(lock) }
        while flock(lock, LOCK_EX) != 0 {
            guard errno == EINTR else { throw FileBytes.failure(records) }
        }
        return try body()
    }

    // MARK: Databases of other programs

    private static let patience = Duration.seconds(60)

    private func refresh(
        _ manifest: DocumentTypesManifest?, isRegistered: Bool, before: DocumentTypesManifest? = nil
    ) -> [String] {
        var notes: [String] = []
        let (mime, applications) = (folder + "/mime", folder + "/applications")
        try? FileManager.default.createDirectory(atPath: mime + "/packages", withIntermediateDirectories: true)
        try? FileManager.default.createDirectory(atPath: applications, withIntermediateDirectories: true)
        switch run(["update-mime-database", mime]) {
        case .done: break
        case .failed(let why): notes.append("update-mime-database: \(why)")
        case .missing:
            do {
                if let before { try MIMEPackage.merge(before, isRegistered: false, into: mime) }
                if let manifest { try MIMEPackage.merge(manifest, isRegistered: isRegistered, into: mime) }
            } catch { notes.append("\(mime): \(error.localizedDescription)") }
            if access(mime + "/mime.cache", F_OK) == 0 {
                notes.append("update-mime-database (shared-mime-info) is not installed, so \(mime)/mime.cache is old")
            }
        }
        switch run(["update-desktop-database", "-q", applications]) {
        case .done: break
        case .failed(let why): notes.append("update-desktop-database: \(why)")
        case .missing:
            do { try mergeCache(manifest, isRegistered) } catch { notes.append("\(applications): \(error)") }
        }
        return notes
    }

    /// Does the work of update-desktop-database for one manifest.
    private func mergeCache(_ manifest: DocumentTypesManifest?, _ isRegistered: Bool) throws {
        guard let manifest else { return }
        let (path, group) = (folder + "/applications/mimeinfo.cache", "MIME Cache")
        let file = KeyFile(path: path) ?? KeyFile()
        let (id, types) = (manifest.identifier + ".desktop", manifest.documents.flatMap(\.mimeTypes))
        for type in Set(file.keys(group) + types) {
            let others = file.strings(group, type).filter { $0 != id }
            file.set(group, type, isRegistered && types.contains(type) ? others + [id] : others)
        }
        try write(file.text, to: path)
    }

    private enum Ran {
        case done, missing
        case failed(String)
    }

    private func run(_ words: [String]) -> Ran {
        do {
            let ending = try ChildProcess(words, limit: Self.patience).run(reading: .standardError)
            if ending.status == 0 { return .done }
            if ending.status == 127 { return .missing }
            return .failed(String(decoding: ending.printed.prefix(1_000), as: UTF8.self))
        } catch .notStarted(let code) where code == ENOENT {
            return .missing
        } catch { return .failed("\(error)") }
    }
}
