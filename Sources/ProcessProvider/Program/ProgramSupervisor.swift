package import FileProvider
import Foundation
import Logging
import Waiting

/// What is started, and what it is told of the store.
package struct ProgramCommand: Sendable {
    /// The program, found in PATH, and its arguments, without ``ProviderProtocol/argument``.
    package var words: [String]
    package var store: Message.Initialize

    /// - Parameters:
    ///   - store: `SCHEME:REST`.
    ///   - path: the rest as an absolute path.
    ///   - release: Hydrant's.
    package init(words: [String], store: String, path: String, workingDirectory: String, release: String) {
        self.words = words
        let colon = store.firstIndex(of: ":") ?? store.endIndex
        self.store = Message.Initialize(
            version: ProviderProtocol.version, store: store, scheme: store[..<colon].lowercased(),
            rest: String(store[colon...].dropFirst()), path: path, workingDirectory: workingDirectory, hydrant: release)
    }

    /// The program's name, for messages.
    package var name: String { words.first.map { String($0.split(separator: "/").last ?? "") } ?? "" }
}

/// Keeps one provider program running: starts it again, after growing pauses, when it has ended or hangs.
package actor ProgramSupervisor {
    private struct Running {
        let process: ProviderProcess
        let connection: Connection
        let abilities: Message.Abilities
        let began = ContinuousClock.now
    }
    private enum State {
        case new
        case starting(Task<Result<Connection, FileProviderError>, Never>)
        case running(Running)
        /// It is started again after a pause.
        case pausing(FileProviderError)
        case over
    }
    private let command: ProgramCommand
    private let patience: Patience
    private let reception: ProgramReception
    private let log: ProgramLog?
    private let pauses: ProgramPauses
    private var state = State.new
    private var failures = 0
    /// What the program said at its first start; it must not change.
    private var abilities: Message.Abilities?
    private var restart: Task<Void, Never>?

    /// - Parameter log: nil: the program's standard error is this process's.
    package init(
        _ command: ProgramCommand, _ reception: ProgramReception, patience: Patience, pauses: ProgramPauses,
        log: ProgramLog?
    ) {
        self.command = command
        self.reception = reception
        self.patience = patience
        self.pauses = pauses
        self.log = log
    }

    /// The first start. If it fails, the program is not started again.
    package func begin() async throws(FileProviderError) -> Message.Abilities {
        let running: Running
        do { running = try await launch() } catch {
            state = .over
            throw error
        }
        if let ending = running.connection.ending {
            // It has ended since its answer; its end went by while nothing was running yet.
            state = .over
            throw ending
        }
        abilities = running.abilities
        state = .running(running)
        return running.abilities
    }

    /// The connection to the program that runs; waits for one that is being started.
    package func connection() async throws(FileProviderError) -> Connection {
        switch state {
        case .running(let running): return running.connection
        case .starting(let task):
            let answer = FirstAnswer<Result<Connection, FileProviderError>>()
            Task { answer.resume(await task.value) }
            let cancelled = FileProviderError(.cancelled, "\(command.name): the request was cancelled")
            return try await answer.wait(otherwise: .failure(cancelled)).get()
        case .pausing(let error): throw error
        case .new, .over: throw FileProviderError(.serverUnreachable, "\(command.name): it does not run")
        }
    }

    /// Ends the program. No call may follow.
    package func end() async {
        restart?.cancel()
        guard case .running(let running) = state else {
            if case .starting(let task) = state { task.cancel() }
            state = .over
            return
        }
        state = .over
        _ = await FirstAnswer.of(within: patience.end) { () -> Message.Nothing? in
            try? await running.connection.call(.invalidate, Message.Nothing())
        }
        running.connection.end(FileProviderError(.serverUnreachable, "\(command.name): the domain is unmounted"))
        await Self.end(running.process, within: patience.end)
    }

    // MARK: Starting

    /// Starts the program, and tells it of the store, and of the domain if that is served already.
    private func launch() async throws(FileProviderError) -> Running {
        let standardError = await log?.descriptor()
        defer { if let standardError { close(standardError) } }
        let (process, socket): (ProviderProcess, Int32)
        do {
            (process, socket) = try await ProviderProcess.start(
                command.words + [ProviderProtocol.argument], standardError: standardError)
        } catch {
            throw FileProviderError(
                .serverUnreachable, "\(command.name): cannot be started: \(String(cString: strerror(error.number)))")
        }
        let hello = FirstAnswer<Message.Hello?>()
        let connection: Connection
        do throws(FileProviderError) {
            connection = try await Connection.over(
                socket, name: command.name, patience: patience, reception.handler(hello))
        } catch {
            process.kill()
            throw error
        }
        Task { [weak self] in
            let reason = await connection.run()
            hello.resume(nil)
            await self?.hasEnded(process, connection, reason)
        }
        do throws(FileProviderError) {
            let abilities = try await greet(connection, hello)
            if let domain = reception.domain {
                let _: Message.Nothing = try await limited("beginServing", patience.silence) {
                    () async throws(FileProviderError) in
                    try await connection.call(.beginServing, Message.BeginServing(domain))
                }
            }
            return Running(process: process, connection: connection, abilities: abilities)
        } catch {
            connection.end(error)
            process.kill()
            guard error.code == .serverUnreachable else { throw error }
            let how = await process.end()
            throw FileProviderError(.serverUnreachable, "\(error.message) (\(how))")
        }
    }

    private func greet(
        _ connection: Connection, _ hello: FirstAnswer<Message.Hello?>
    ) async throws(FileProviderError) -> Message.Abilities {
        guard let said = await hello.wait(within: patience.start, otherwise: nil) else {
            if let ending = connection.ending { throw ending }
            throw FileProviderError(
                .serverUnreachable, "\(command.name): it has not said hello in the provider protocol")
        }
        guard said.versions.contains(ProviderProtocol.version) else {
            throw FileProviderError(
                .cannotSynchronize,
                "\(command.name): it speaks the versions \(said.versions.prefix(10)) of the provider protocol, not "
                    + "\(ProviderProtocol.version); update it or Hydrant")
        }
        let store = command.store
        let found: Message.Abilities = try await limited("initialize", patience.start) {
            () async throws(FileProviderError) in
            try await connection.call(.initialize, store)
        }
        guard found.version == ProviderProtocol.version else {
            throw FileProviderError(
                .cannotSynchronize,
                "\(command.name): it answered version \(ProviderProtocol.version) with \(found.version)")
        }
        if let abilities, !abilities.isSame(as: found) {
            throw FileProviderError(
                .serverUnreachable,
                "\(command.name): it has other abilities than when it was mounted; unmount and mount again")
        }
        return found
    }

    private func limited<Answer: Sendable>(
        _ what: String, _ limit: Duration, _ body: @escaping @Sendable () async throws(FileProviderError) -> Answer
    ) async throws(FileProviderError) -> Answer {
        let answer: Result<Answer, FileProviderError>? = await FirstAnswer.of(within: limit) {
            () -> Result<Answer, FileProviderError> in
            do throws(FileProviderError) { return .success(try await body()) } catch { return .failure(error) }
        }
        guard let answer else {
            throw FileProviderError(.serverUnreachable, "\(command.name): it has not answered \(what) within \(limit)")
        }
        return try answer.get()
    }

    // MARK: Ends

    private func hasEnded(_ process: ProviderProcess, _ connection: Connection, _ reason: FileProviderError) async {
        // A program that has closed its output, or hangs, is of no use any more.
        await Self.end(process, within: patience.end)
        let how = await process.end()
        // (No wait after this look: it may be unmounted meanwhile.)
        guard case .running(let running) = state, running.connection === connection else { return }
        if ContinuousClock.now - running.began > pauses.afterWhichItRanWell { failures = 0 }
        pause("\(reason.message): \(how)")
    }

    private func pause(_ why: String) {
        let pause = pauses.pause(failures)
        failures += 1
        var error = FileProviderError(.serverUnreachable, "\(why); it is started again after \(pause)")
        error.isTransient = pause <= .seconds(5)
        state = .pausing(error)
        log?.add(error.message, level: .warning)
        restart = Task { [weak self] in
            guard (try? await Task.sleep(for: pause)) != nil else { return }
            await self?.startAgain()
        }
    }

    private func startAgain() async {
        guard case .pausing = state else { return }
        let task = Task { () -> Result<Connection, FileProviderError> in
            do throws(FileProviderError) { return .success(try await self.relaunch()) } catch { return .failure(error) }
        }
        state = .starting(task)
    }

    private func relaunch() async throws(FileProviderError) -> Connection {
        do throws(FileProviderError) {
            let running = try await launch()
            guard case .starting = state else {
                // Unmounted meanwhile.
                running.connection.end(FileProviderError(.serverUnreachable, "the domain is unmounted"))
                await Self.end(running.process, within: patience.end)
                throw FileProviderError(.serverUnreachable, "the domain is unmounted")
            }
            state = .running(running)
            if running.connection.ending != nil {
                pause("\(command.name): it ended at once")
            } else {
                log?.add("was started again")
                reception.signal(.everything)
            }
            return running.connection
        } catch {
            if case .starting = state { pause(error.message) }
            throw error
        }
    }

    /// Waits for the end of a program whose connection has ended, and kills it when that takes too long.
    private static func end(_ process: ProviderProcess, within limit: Duration) async {
        let ended = await FirstAnswer.of(within: limit) { () -> String? in await process.end() }
        if ended != nil { return }
        process.kill()
        _ = await process.end()
    }
}

/// The pauses before a program is started again.
package struct ProgramPauses: Sendable {
    package var first = Duration.milliseconds(500)
    package var longest = Duration.seconds(60)
    /// The next pause is the first one again after a program has run for so long.
    package var afterWhichItRanWell = Duration.seconds(60)

    package init() {}

    func pause(_ failures: Int) -> Duration { min(longest, first * Double(1 << min(failures, 16))) }
}

extension Message.BeginServing {
    init(_ domain: any FileProviderDomain) {
        documentStorageURL = domain.documentStorageURL.absoluteString
        documentGroupURL = domain.documentGroupURL?.absoluteString
    }
}
