import Logging
import Synchronization

/// The present credential, and whether the server accepted it.
///
/// A refused credential is not sent again: many servers lock an account after a few wrong passwords. The source is
/// asked again now and then, and whenever the credential may have changed.
final class SignIn: Sendable {
    private struct State {
        var current: Credential?
        var isKnown = false
        var refused: Credential?
        var wasRefused = false
        var refusedAt: ContinuousClock.Instant?
        var askedAt: ContinuousClock.Instant?
    }
    private let state = Mutex(State())
    private let source: any CredentialSource
    /// Seconds between two calls of the source while its credential is refused.
    private static let pause = 30.0
    /// Seconds after which a refused credential is tried again: the server may have been wrong.
    private static let forgiveness = 900.0

    init(_ source: any CredentialSource) { self.source = source }

    enum Answer {
        case send(Credential?)
        /// The server has refused the present credential.
        case refused
    }

    func credential() async throws -> Answer {
        let known = state.withLock { state -> Answer? in
            guard state.isKnown else { return nil }
            if !state.wasRefused { return .send(state.current) }
            let asked = state.askedAt.map { $0.duration(to: .now) < .seconds(Self.pause) } ?? false
            return asked ? .refused : nil
        }
        if let known { return known }
        let credential = try await source.credential()
        return state.withLock { state in
            state.askedAt = .now
            state.isKnown = true
            state.current = credential
            let isOld = state.refusedAt.map { $0.duration(to: .now) > .seconds(Self.forgiveness) } ?? false
            if state.wasRefused, credential == state.refused, !isOld { return .refused }
            state.wasRefused = false
            return .send(credential)
        }
    }

    /// The server answered 401. Returns whether there is another credential to try at once.
    func wasRefused(_ credential: Credential?) async -> Bool {
        let isNews = state.withLock { state -> Bool in
            // Another task was told first, and has found another credential.
            guard state.current == credential else { return false }
            state.refused = credential
            state.wasRefused = true
            state.refusedAt = .now
            state.askedAt = nil
            return true
        }
        if !isNews { return state.withLock { !$0.wasRefused } }
        if case .send? = try? await self.credential() { return true }
        return false
    }

    /// The source may have another credential. The refused one is tried once more as well.
    func mayHaveChanged() {
        state.withLock { state in
            state.isKnown = false
            state.askedAt = nil
            state.wasRefused = false
        }
    }
}
