import Foundation
import Synchronization
import UniformTypes

/// An extension in a process of its own.
final class ExtensionProcess: Sendable {
    private let context: DocumentPickerContext
    private let program: String

    private struct State {
        var process: Process?
        var input: FileHandle?
        /// The call that waits for the extension's next message.
        var waiting: CheckedContinuation<Void, any Error>?
        var hasEnded = false
        /// The extension has sent `dismiss`, and has no answer yet.
        var isDismissing = false
        /// End the process when the answer to `dismiss` is sent.
        var endsAfterAnswer = false
        /// The last refusal, which the extension may report as its own error.
        var refusal: String?
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

    /// Ends the process, after answering a `dismiss`: an extension without an answer could remove a copy that was
    /// taken.
    func end() {
        let process = state.withLock { state -> Process? in
            state.endsAfterAnswer = state.isDismissing
            if state.isDismissing { return nil }
            try? state.input?.close()
            state.input = nil
            return state.process
        }
        // Give the process a second to clean up.
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

    /// Returns when the extension has shown a page or sent `dismiss`; throws the extension's error.
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

    private var died: DocumentPickerError { DocumentPickerError("\(program): the extension has ended") }

    /// Resumes the call that waits for the extension; without one, shows the user an error.
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
                        "\(program): sent a malformed message: \(String(decoding: line, as: UTF8.self))")))
        }
        switch reply {
        case .page(let page):
            state.withLock { $0.refusal = nil }
            await context.show(page)
            // While a page is loading, another one follows.
            if !page.isLoading { await answered(.success(())) }
        case .failed(let message):
            // The extension may report our refusal as its own error; the user has seen that already.
            let isKnown = state.withLock { state in
                defer { state.refusal = nil }
                return state.refusal == message && state.waiting == nil
            }
            if !isKnown { await answered(.failure(DocumentPickerError(message))) }
        case .dismiss(let text): await dismiss(text)
        }
    }

    private func dismiss(_ text: String) async {
        let url = text.hasPrefix("/") ? URL(filePath: text, directoryHint: .notDirectory) : URL(string: text)
        state.withLock { ($0.isDismissing, $0.refusal) = (true, nil) }
        let result: Result<Void, any Error>
        do {
            guard let url else { throw DocumentPickerError("\(text): not a URL") }
            try await context.dismissGrantingAccess(to: url)
            send(.dismissed)
            result = .success(())
        } catch {
            let words = error is CancellationError ? "the picker was closed; nothing was taken" : "\(error)"
            state.withLock { $0.refusal = words }
            send(.refused(words))
            result = .failure(error)
        }
        let ends = state.withLock { state in
            state.isDismissing = false
            return state.endsAfterAnswer
        }
        if ends { end() }
        await answered(result)
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
