package import FileProvider
import Foundation
import Synchronization

/// A request of the other side, until this side has answered it.
package final class ServedRequest: Sendable {
    private struct State {
        var credit: Int
        /// Bytes on their way that the kernel has not taken.
        var unwritten = 0
        var waiters: [CheckedContinuation<Void, Never>] = []
        var isCancelled = false
        var isAnswered = false

        var isFull: Bool { unwritten >= ServedRequest.mostUnwritten }
    }
    private let state: Mutex<State>
    /// What one request writes ahead; the other side has not read it yet.
    private static let mostUnwritten = Frame.mostBytes
    private let json: [UInt8]
    private unowned let connection: Connection
    package let id: UInt64
    /// As the other side named it; see ``Method``.
    package let name: String
    /// The request of this side to which it belongs.
    let about: UInt64?

    init(_ id: UInt64, _ name: String, _ json: [UInt8], _ connection: Connection) {
        self.id = id
        self.name = name
        self.json = json
        self.connection = connection
        struct Given: Decodable { var credit: Int?, request: UInt64? }
        let given = (try? JSONDecoder().decode(Body.Params<Given>.self, from: Data(json)))?.params
        about = given?.request
        state = Mutex(State(credit: max(0, min(given?.credit ?? 0, Message.Credit.most))))
    }

    package func params<Params: Decodable>(_ type: Params.Type = Params.self) throws(FileProviderError) -> Params {
        do { return try JSONDecoder().decode(Body.Params<Params>.self, from: Data(json)).params } catch {
            throw FileProviderError(
                .cannotSynchronize, "\(name.prefix(100)): its parameters cannot be read: \(Connection.words(error))")
        }
    }

    /// Sends bytes of a document, as fast as the other side reads them and gives credit.
    package func send(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        var sent = 0
        while sent < bytes.count {
            let count = try await take(min(Frame.mostBytes, bytes.count - sent))
            connection.send(.bytes(request: id, offset: offset + Int64(sent), Array(bytes[sent..<(sent + count)]))) {
                self.wrote(count)
            }
            sent += count
        }
    }

    /// Waits for credit, and until the other side reads.
    private func take(_ wanted: Int) async throws(FileProviderError) -> Int {
        while true {
            let taken = try state.withLock { (state) throws(FileProviderError) -> Int in
                if state.isCancelled { throw FileProviderError(.cancelled, "the request was cancelled") }
                let taken = state.isFull ? 0 : min(wanted, state.credit)
                state.credit -= taken
                state.unwritten += taken
                return taken
            }
            if taken > 0 { return taken }
            await wait { ($0.credit > 0 && !$0.isFull) || $0.isCancelled }
        }
    }

    /// Waits for a change of the state, unless it is as wanted.
    private func wait(_ isReady: (State) -> Bool) async {
        await withCheckedContinuation { continuation in
            let goesOn = state.withLock { state in
                if isReady(state) { return true }
                state.waiters.append(continuation)
                return false
            }
            if goesOn { continuation.resume() }
        }
    }

    /// The kernel has taken bytes, or the connection has ended.
    private func wrote(_ bytes: Int) {
        let waiters = state.withLock { state in
            state.unwritten -= bytes
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func give(_ bytes: Int) {
        let waiters = state.withLock { state in
            state.credit = min(state.credit.addingReportingOverflow(max(0, bytes)).partialValue, Message.Credit.most)
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func cancel() {
        let waiters = state.withLock { state in
            state.isCancelled = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Answers: the first one counts

    private var isFirst: Bool {
        state.withLock { state in
            defer { state.isAnswered = true }
            return !state.isAnswered
        }
    }

    package func answer(_ result: some Encodable) {
        guard isFirst else { return }
        do { try connection.send(json: Body.Answer(id: id, result: result)) } catch { fail(error) }
    }

    /// An answer with lists, in as many messages as it needs, as fast as the other side reads them.
    package func answer(list result: some ListAnswer) async {
        guard isFirst else { return }
        do { try await send(list: result, isLast: true) } catch { fail(error) }
    }

    private func send<Result: ListAnswer>(list result: Result, isLast: Bool) async throws(FileProviderError) {
        await wait { !$0.isFull || $0.isCancelled }
        let json: [UInt8]
        do {
            json =
                isLast
                ? try Connection.encoded(Body.Answer(id: id, result: result))
                : try Connection.encoded(Body.Part(id: id, partial: result))
        } catch {
            guard let (first, second) = result.halves else { throw error }
            try await send(list: first, isLast: false)
            return try await send(list: second, isLast: isLast)
        }
        let isCancelled = state.withLock { state in
            state.unwritten += json.count
            return state.isCancelled
        }
        if isCancelled { throw FileProviderError(.cancelled, "the request was cancelled") }
        connection.send(.json(json)) { self.wrote(json.count) }
    }

    package func answer(_ error: FileProviderError) {
        guard isFirst else { return }
        fail(error)
    }

    private func fail(_ error: FileProviderError) {
        if (try? connection.send(json: Body.Failure(id: id, error: WireError(error)))) != nil { return }
        // (Its item is too large for a message.)
        try? connection.send(
            json: Body.Failure(id: id, error: WireError(FileProviderError(error.code, error.message))))
    }
}
