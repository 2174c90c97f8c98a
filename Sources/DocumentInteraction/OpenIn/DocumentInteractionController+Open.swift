import ChildProcess
import ControlAPI
public import FileCoordination
import Foundation
public import UniformTypes

/// The way in which a program gets a document.
public enum DocumentAccess: Sendable, Hashable {
    /// By its path in the mount.
    case path
    /// In a folder of its own, with nothing else of the domain in it, as long as the program runs
    /// (`SecurityScopedURL`).
    case scoped(SecurityScope.Access)
}

/// Names of environment variables, and of entries in `platform-data` of `org.freedesktop.Application.Open`.
public enum OpenInVariable {
    /// ``DocumentInteractionController/annotation``, as JSON; empty without one.
    public static let annotation = "HYDRANT_ANNOTATION"
    /// ``DocumentInteractionController/sourceProgram``.
    public static let sourceProgram = "HYDRANT_SOURCE_PROGRAM"
    /// Its key in `platform-data`, with a text.
    public static let annotationData = "hydrant-annotation"
    /// Its key in `platform-data`, with a text.
    public static let sourceProgramData = "hydrant-source-program"
    /// With ``DocumentAccess/scoped(_:)``: the document's path, as in `hydrant access`.
    public static let scopedPath = "HYDRANT_SCOPED_PATH"
    /// With ``DocumentAccess/scoped(_:)``: the path of the document's folder.
    public static let scopedFolder = "HYDRANT_SCOPED_FOLDER"
}

extension DocumentInteractionController {
    private static let mostAnnotation = 64 << 10

    /// The programs for *Open in*, which are registered for the document's type: the default first, then owners of the
    /// type, then the others. Empty: there is nothing to show. The document need not be here.
    public func programs() async -> [OpenInProgram] { await Self.programs(for: mimeType) }

    /// The programs for a type, without a document.
    public static func programs(for type: UniformType) async -> [OpenInProgram] {
        await programs(for: type == .folder ? "inode/directory" : UniformTypeTable.system.mimeType(of: type))
    }

    private static func programs(for mimeType: String?) async -> [OpenInProgram] {
        guard let mimeType else { return [] }
        return (try? await onThread { ProgramFinder.programs(for: mimeType) }) ?? []
    }

    /// A registered program, by the name of its desktop entry or its own name; or an executable. It need not be
    /// registered for the document's type.
    public func program(named text: String) async -> OpenInProgram? {
        let mimeType = mimeType ?? "application/octet-stream"
        return try? await onThread { ProgramFinder.program(named: text, for: mimeType) }
    }

    /// Downloads the document, starts a program with it, and returns when the program has started.
    ///
    /// - Parameters:
    ///   - program: nil: the first of ``programs()``.
    ///   - inTerminal: whether a program that needs a terminal gets this process's, until it ends.
    ///   - progress: of the download.
    /// - Throws: ``DocumentInteractionError``: ``DocumentInteractionError/Code/nothingToShow`` when no program is
    ///   registered, ``DocumentInteractionError/Code/download``, ``DocumentInteractionError/Code/notStarted``.
    @discardableResult
    public func open(
        with program: OpenInProgram? = nil, access: DocumentAccess = .path, inTerminal: Bool = false,
        progress: (@Sendable (DownloadProgress) -> Void)? = nil
    ) async throws -> OpenedDocument {
        var chosen = program
        if chosen == nil { chosen = await programs().first }
        guard let program = chosen else { throw nothing("no program is registered for") }
        let json = annotation?.json
        if let json, json.utf8.count > Self.mostAnnotation {
            throw DocumentInteractionError(.tooMuch, "\(name): the annotation has more than 64 KiB of JSON")
        }
        try await download(progress: progress)
        var scope: HeldScope?
        if case .scoped(let access) = access { scope = try await HeldScope(place, access) }
        do {
            return try await start(program, json, scope, inTerminal)
        } catch {
            await scope?.end()
            throw error
        }
    }

    func nothing(_ why: String) -> DocumentInteractionError {
        DocumentInteractionError(
            .nothingToShow,
            "\(place.shown): \(why) \(mimeType ?? type.identifier); install one, or register one: hydrant types register"
        )
    }

    private func start(
        _ program: OpenInProgram, _ annotation: String?, _ scope: HeldScope?, _ inTerminal: Bool
    ) async throws -> OpenedDocument {
        let path = scope.map { ByteText.text(of: $0.url) } ?? place.path
        let source = sourceProgram
        var why = ""
        if program.isActivatedOverDBus, let uri = FileURI.text(path) {
            var data = [OpenInVariable.sourceProgramData: source]
            data[OpenInVariable.annotationData] = annotation
            do {
                try await onThread { [data] in try BusActivation.open(uri, with: program, data: data) }
                return OpenedDocument(program, nil, scope)
            } catch BusActivation.Failure.refused(let message) {
                throw DocumentInteractionError(.notStarted, "\(program.name): refuses to open the document: \(message)")
            } catch BusActivation.Failure.unavailable(let message) {
                // Without the bus, use the command line.
                why = message
            }
        }
        guard !program.exec.isEmpty else {
            throw DocumentInteractionError(.notStarted, "\(program.name): cannot be asked over D-Bus: \(why)")
        }
        var environment = [OpenInVariable.sourceProgram: source]
        environment[OpenInVariable.annotation] = annotation ?? ""
        if scope != nil {
            environment[OpenInVariable.scopedPath] = path
            environment[OpenInVariable.scopedFolder] = (path as NSString).deletingLastPathComponent
        }
        var words = try ExecLine.words(program, path: path)
        let isInForeground = inTerminal && program.isShownInTerminal
        if program.surface == .terminal && !inTerminal {
            guard let shown = ProgramStart.inTerminal(words) else {
                throw DocumentInteractionError(
                    .notStarted,
                    "\(program.name): runs in a terminal, and no terminal emulator is installed; run this in a terminal"
                )
            }
            words = shown
        }
        let start = ProgramStart(
            words: words, environment: environment, folder: program.folder, isInForeground: isInForeground)
        return OpenedDocument(program, try await onThread { try start.run() }, scope)
    }
}

/// A document that was opened in a program.
public final class OpenedDocument: Sendable {
    /// The program.
    public let program: OpenInProgram
    /// The program's process, a child of this one; nil: it was asked over D-Bus.
    public let processIdentifier: Int32?
    private let end: Task<Int32, Never>
    private let scope: HeldScope?

    init(_ program: OpenInProgram, _ child: pid_t?, _ scope: HeldScope?) {
        self.program = program
        processIdentifier = child
        self.scope = scope
        end = Task {
            let status: Int32
            if let child {
                status = await Spawn.ending(of: child)
            } else {
                status = 0
                // Only a scope needs the end of a program on the bus.
                if scope != nil { await Self.busEnd(of: program) }
            }
            await scope?.end()
            return status
        }
    }

    private static func busEnd(of program: OpenInProgram) async {
        await withCheckedContinuation { continuation in
            Thread {
                BusActivation.waitForEnd(of: program)
                continuation.resume()
            }.start()
        }
    }

    /// Waits until the program has ended and its scope is removed; does not wait for a program that was asked over
    /// D-Bus without a scope. If the task is cancelled, the scope is removed, but the program goes on.
    ///
    /// - Returns: the exit status as a shell reports it; 128 after a cancellation.
    @discardableResult
    public func ended() async -> Int32 {
        let (endings, continuation) = AsyncStream<Int32>.makeStream()
        let waiting = Task { [end] in
            continuation.yield(await end.value)
            continuation.finish()
        }
        for await status in endings { return status }
        // The stream has ended, or the task was cancelled.
        waiting.cancel()
        await endAccess()
        return 128
    }

    /// Ends the scope, if there is one; the program may go on.
    public func endAccess() async { await scope?.end() }
}
