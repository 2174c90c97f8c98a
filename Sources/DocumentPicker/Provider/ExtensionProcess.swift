import Foundation
import Synchronization
import UniformTypes

/// An extension that is a program of its own.
final class ExtensionProcess: Sendable {
    private let context: DocumentPickerContext
    private let program: String

    private struct State {
        var process: Process?
        var input: FileHandle?
        /// Those who wait for the extension to say something.
        var waiting: CheckedContinuation<Void, any Error>?
        var hasEnded = false
    }
    private let state = Mutex(State())

    init(context: DocumentPickerContext, program: String) {
        self.context = context
        self.program = program
    }

    func prepareForPresentation(in mode: DocumentPickerMode) async throws {
        let output = try start()
        let lines = JSONLine.read(output.fileDescriptor)
        Task { [weak self] in
            for await line in lines {
                guard let self else { break }
                await self.take(line)
            }
            self?.ended()
            try? output.close()
        }
        try await ask(
            .prepare(
                ExtensionRequest.Presentation(
                    mode: mode, original: context.originalURL?.path(percentEncoded: false),
                    types: context.validTypes?.map(\.identifier), providerIdentifier: context.providerIdentifier,
                    documentStorage: context.documentStorageURL.map { DismissalRules.folderPath($0) },
                    documentGroup: context.documentGroupURL.map { DismissalRules.folderPath($0) })))
    }

    func handle(_ action: PickerAction) async throws { try await ask(.action(action)) }

    func end() {
        let process = state.withLock { state in
            try? state.input?.close()
            state.input = nil
            return state.process
        }
        // It may be tidying up.
        if let process {
            Task {
                try? await Task.sleep(for: .seconds(1))
                if process.isRunning { process.terminate() }
            }
        }
    }

    private func start() throws -> FileHandle {
        let process = Process()
        process.executableURL = URL(filePath: program, directoryHint: .notDirectory)
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        do { try process.run() } catch { throw DocumentPickerError("\(program): cannot be started: \(error)") }
        state.withLock { state in
            state.process = process
            state.input = input.fileHandleForWriting
        }
        return output.fileHandleForReading
    }

    /// Returns when the extension has shown a page, or has dismissed; throws what it could not do.
    private func ask(_ request: ExtensionRequest) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.waiting = continuation }
                return state.hasEnded
            }
            if hasEnded { return continuation.resume(throwing: died) }
            send(request)
        }
    }

    private func send(_ request: ExtensionRequest) {
        let input = state.withLock { $0.input }
        guard let input, let line = try? JSONLine.encode(request) else { return }
        try? input.write(contentsOf: line)
    }

    private var died: DocumentPickerError { DocumentPickerError("\(program): has ended") }

    /// To whoever waits for the extension; if nobody does, what went wrong is the user's to know.
    private func answered(_ result: Result<Void, any Error>) async {
        let waiting = state.withLock { state in
            defer { state.waiting = nil }
            return state.waiting
        }
        if let waiting { return waiting.resume(with: result) }
        if case .failure(let error) = result { await context.fail(error) }
    }

    private func take(_ line: Data) async {
        guard let reply = try? JSONDecoder().decode(ExtensionReply.self, from: line) else {
            return await answered(
                .failure(
                    DocumentPickerError(
                        "\(program): says what is not understood: \(String(decoding: line, as: UTF8.self))")))
        }
        switch reply {
        case .page(let page):
            await context.show(page)
            // (There will be another one.)
            if !page.isLoading { await answered(.success(())) }
        case .failed(let message): await answered(.failure(DocumentPickerError(message)))
        case .dismiss(let text):
            let url = text.hasPrefix("/") ? URL(filePath: text, directoryHint: .notDirectory) : URL(string: text)
            do {
                guard let url else { throw DocumentPickerError("\(text): is no URL") }
                try await context.dismissGrantingAccess(to: url)
                send(.dismissed)
                await answered(.success(()))
            } catch {
                send(.refused("\(error)"))
                await answered(.failure(error))
            }
        }
    }

    private func ended() {
        let waiting = state.withLock { state in
            state.hasEnded = true
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume(throwing: died)
    }
}
