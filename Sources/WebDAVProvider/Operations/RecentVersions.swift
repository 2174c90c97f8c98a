import HTTPTransport
import Synchronization

/// The versions that places were given in the last seconds: of servers whose tags count whole seconds, none may come twice.
final class RecentVersions: Sendable {
    private struct Key: Hashable {
        var location: HTTPLocation
        var validator: Validator
    }
    private let moments = Mutex<[Key: ContinuousClock.Instant]>([:])
    private static let memory = Duration.seconds(3)

    func note(_ validator: Validator, at location: HTTPLocation) {
        moments.withLock { moments in
            if moments.count >= 1_000 { moments = moments.filter { $0.value.duration(to: .now) < Self.memory } }
            moments[Key(location: location, validator: validator)] = .now
        }
    }

    func has(_ validator: Validator, at location: HTTPLocation) -> Bool {
        moments.withLock { moments in
            moments[Key(location: location, validator: validator)].map { $0.duration(to: .now) < Self.memory } ?? false
        }
    }
}
