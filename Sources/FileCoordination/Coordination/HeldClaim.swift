import ControlAPI
import Coordination
import Foundation

/// A claim with one daemon, which lasts as long as its connection.
struct HeldClaim: Sendable {
    private let request: CoordinationRequest
    private let mountPoint: String
    private let client: ControlClient

    init(_ request: CoordinationRequest, _ mountPoint: String) throws {
        self.request = request
        self.mountPoint = mountPoint
        guard let client = FileCoordinator.client(of: mountPoint) else {
            throw CoordinationError(.notRunning, "\(mountPoint): its daemon cannot be reached")
        }
        self.client = client
    }

    /// Runs `body` when the claim is granted, and ends the claim afterwards.
    func hold<T>(
        until deadline: ContinuousClock.Instant?, _ body: (CoordinationGrant) async throws -> T
    ) async throws -> T {
        let (grants, inbox) = AsyncThrowingStream<CoordinationGrant, any Error>.makeStream()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    let answer = try await client.follow(.coordinate(request)) { news in
                        if case .granted(let grant) = news { inbox.yield(grant) }
                    }
                    guard case .failure(let failure) = answer else { return inbox.finish() }
                    inbox.finish(throwing: CoordinationError(.init(answer: failure.code), failure.message))
                } catch {
                    inbox.finish(throwing: Self.error(error, mountPoint))
                }
            }
            if let deadline {
                group.addTask {
                    try? await Task.sleep(until: deadline)
                    let message =
                        "\(self.names): in use by others, and not granted in time; try again, or see hydrant claims"
                    inbox.finish(throwing: CoordinationError(.timedOut, message))
                }
            }
            if !request.within.isEmpty {
                group.addTask {
                    guard await CycleWatch(id: ClaimID(request.id)).findsCycle() else { return }
                    let message = "\(self.names): this would wait for ever; end your other claims and try again"
                    inbox.finish(throwing: CoordinationError(.wouldDeadlock, message))
                }
            }
            defer { group.cancelAll() }
            var grant: CoordinationGrant?
            for try await first in grants {
                grant = first
                break
            }
            guard let grant else {
                throw CoordinationError(.cancelled, "\(names): cancelled")
            }
            guard request.intents.contains(where: \.isWriting) else { return try await body(grant) }
            let result: Result<T, any Error>
            do { result = .success(try await body(grant)) } catch { result = .failure(error) }
            // Wait until all running queries have our changes. (If the daemon is gone, there are no queries.)
            _ = try? await client.send(.settleQueries, timeout: Self.patience)
            return try result.get()
        }
    }

    /// In seconds; the daemon's own limit is shorter (default: 5).
    private static let patience = 60.0

    private var names: String {
        request.intents.map { mountPoint + "/" + $0.path.string }.joined(separator: ", ")
    }

    static func error(_ error: any Error, _ mountPoint: String) -> CoordinationError {
        switch error {
        case let error as CoordinationError: error
        case let error as ControlError where error.code == .cancelled:
            CoordinationError(.cancelled, "\(mountPoint): cancelled")
        case let error as ControlError: CoordinationError(.notRunning, "\(mountPoint): \(error.message)")
        default: CoordinationError(.refused, "\(mountPoint): \(error)")
        }
    }
}
