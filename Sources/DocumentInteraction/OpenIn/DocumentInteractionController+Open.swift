import ChildProcess
import ControlAPI
public import FileCoordination
import Foundation
public import UniformTypes

/// How a program gets a document.
public enum DocumentAccess: Sendable, Hashable {
    /// By its path in the mount.
    case path
    /// In a folder of its own, with nothing else of the domain in it, as long as the program runs (`SecurityScopedURL`).
    case scoped(SecurityScope.Access)
}

/// Names of environment variables, and of what is in `platform-data` of `org.freedesktop.Application.Open`.
public enum OpenInVariable {
    /// ``DocumentInteractionController/annotation``, as JSON; empty without one.
    public static let annotation = "HYDRANT_ANNOTATION"
    /// ``DocumentInteractionController/sourceProgram``.
    public static let sourceProgram = "HYDRANT_SOURCE_PROGRAM"
    /// The same in `platform-data`, a text.
    public static let annotationData = "hydrant-annotation"
    /// The same in `platform-data`, a text.
    public static let sourceProgramData = "hydrant-source-program"
    /// With ``DocumentAccess/scoped(_:)``: where the document is, and in which folder; as `hydrant access` has it.
    public static let scopedPath = "HYDRANT_SCOPED_PATH"
    /// See ``scopedPath``.
    public static let scopedFolder = "HYDRANT_SCOPED_FOLDER"
}

extension DocumentInteractionController {
    private static let mostAnnotation = 64 << 10

    /// What *Open in* offers: the programs that are registered for the document's type, the default first, then those whose own
    /// type it is, then the others. Empty: there is nothing to show. The document need not be here.
    public func programs() async -> [OpenInProgram] { await Self.programs(for: mimeType) }

    /// The same for a type, without a document.
    public static func programs(for type: UniformType) async -> [OpenInProgram] {
        await programs(for: type == .folder ? "inode/directory" : UniformTypeTable.system.mimeType(of: type))
    }

    private static func programs(for mimeType: String?) async -> [OpenInProgram] {
        guard let mimeType else { return [] }
        return (try? await onThread { ProgramFinder.programs(for: mimeType) }) ?? []
    }

    /// One that is registered, by the name of its desktop entry or its own; or an executable. It need not be registered for the
    /// document's type.
    public func program(named text: String) async -> OpenInProgram? {
        let mimeType = mimeType ?? "application/octet-stream"
        return try? await onThread { ProgramFinder.program(named: text, for: mimeType) }
    }

    /// Downloads the document, starts a program with it, and returns when the program has been started.
    ///
    /// - Parameters:
    ///   - program: nil: the first of ``programs()``.
    ///   - inTerminal: this process's terminal is the program's if it needs one, until it ends.
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
            throw DocumentInteractionError(.tooMuch, "\(name): an annotation has at most 64 KiB of JSON")
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
                throw DocumentInteractionError(.notStarted, "\(program.name): does not open it: \(message)")
            } catch BusActivation.Failure.unavailable(let message) {
                // Its command line serves those who have no bus.
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
                    "\(program.name): runs in a terminal, and no program that shows one is installed; run this in a terminal"
                )
            }
            words = shown
        }
        let start = ProgramStart(
            words: words, environment: environment, folder: program.folder, isInForeground: isInForeground)
        return OpenedDocument(program, try await onThread { try start.run() }, scope)
    }
}

/// A document that a program was started with.
public final class OpenedDocument: Sendable {
    /// Which one.
    public let program: OpenInProgram
    /// Its process, a child of this one; nil: it was asked over D-Bus.
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
                // Nobody asks of those that have nothing of ours.
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

    /// Returns when the program has ended, and nothing of a scope is there any more: how it ended, as a shell would say it. A
    /// program that was asked over D-Bus without a scope is not waited for.
    ///
    /// If the task is cancelled, nothing of the scope is there either when this returns, but the program goes on: 128.
    @discardableResult
    public func ended() async -> Int32 {
        let (endings, told) = AsyncStream<Int32>.makeStream()
        let waiting = Task { [end] in
            told.yield(await end.value)
            told.finish()
        }
        for await status in endings { return status }
        // Cancelled: the stream has ended.
        waiting.cancel()
        await endAccess()
        return 128
    }

    /// Ends the scope, whether or not the program goes on; without one, nothing.
    public func endAccess() async { await scope?.end() }
}
