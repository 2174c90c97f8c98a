import HTTPTransport
import Synchronization

/// The versions of the last seconds by place: on servers whose tags count whole seconds, no version may come twice.
final class RecentVersions: Sendable {
    private struct Key: Hashable {
        var location: HTTPLocation
        var validator: Validator
    }
    private struct State {
        var moments: [Key: ContinuousClock.Instant] = [:]
        var cleaned = ContinuousClock.now
    }
    private let state = Mutex(State())
    private static let memory = Duration.seconds(3)

    func note(_ validator: Validator, at location: HTTPLocation) {
        state.withLock { state in
            let now = ContinuousClock.now
            // Not for each call, while many are sent.
            if state.moments.count >= 1_000, state.cleaned.duration(to: now) > .seconds(1) {
                state.moments = state.moments.filter { $0.value.duration(to: now) < Self.memory }
                state.cleaned = now
            }
            state.moments[Key(location: location, validator: validator)] = now
        }
    }

    func has(_ validator: Validator, at location: HTTPLocation) -> Bool {
        state.withLock { state in
            state.moments[Key(location: location, validator: validator)].map { $0.duration(to: .now) < Self.memory }
                ?? false
        }
    }
}
