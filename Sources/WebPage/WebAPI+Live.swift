import ControlAPI
import Foundation
import Surroundings

/// What the page follows.
extension WebAPI {
    /// A domain, or why it does not answer.
    struct DomainRow: Encodable {
        var mountPoint: String
        var status: DomainStatus?
        /// All changes that are not in the store yet; the status has the first ones.
        var pending = 0
        var error: String?
    }

    private static let mostPending = 200

    /// A daemon that hangs holds up no other.
    func allDomains() async -> [DomainRow] {
        let mountPoints = domains()
        return await withTaskGroup(of: (Int, DomainRow).self) { group in
            for (index, mountPoint) in mountPoints.enumerated() {
                group.addTask { (index, await row(mountPoint)) }
            }
            var rows: [(Int, DomainRow)] = []
            for await row in group { rows.append(row) }
            return rows.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func row(_ mountPoint: String) async -> DomainRow {
        do {
            guard case .domain(var status, _) = try await ask(mountPoint, .domain, timeout: 5) else {
                throw Self.unexpected
            }
            let pending = status.pending.count
            status.pending = Array(status.pending.prefix(Self.mostPending))
            return DomainRow(mountPoint: mountPoint, status: status, pending: pending)
        } catch {
            let message = (error as? WebProblem)?.message ?? "\(error)"
            return DomainRow(mountPoint: mountPoint, error: message)
        }
    }

    private struct LiveLine: Encodable {
        var domains: [DomainRow]?
        var events: [EventRecord]?
        var domain: String?
    }

    private enum LiveNews: Sendable {
        case tick
        case events([EventRecord], String)
    }

    /// The domains, each second if anything changed, and their events. Ends when the client hangs up.
    func live(_ line: (any Encodable) async throws -> Void) async throws {
        // (A client that is slow misses events, and nothing grows.)
        let (news, continuation) = AsyncStream.makeStream(of: LiveNews.self, bufferingPolicy: .bufferingNewest(64))
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                while !Task.isCancelled {
                    continuation.yield(.tick)
                    try await Task.sleep(for: .seconds(1))
                }
            }
            var followed: Set<String> = []
            var last: [UInt8] = []
            var silent = 0
            for await one in news {
                switch one {
                case .tick:
                    let rows = await allDomains()
                    let now = try Answer.encode(rows)
                    silent += 1
                    // (An empty line now and then shows whether the client is still there.)
                    if now != last || silent >= 5 {
                        try await line(LiveLine(domains: rows))
                        (last, silent) = (now, 0)
                    }
                    for row in rows where row.status != nil && followed.insert(row.mountPoint).inserted {
                        group.addTask { await follow(row.mountPoint, continuation) }
                    }
                    followed.formIntersection(rows.filter { $0.status != nil }.map(\.mountPoint))
                case .events(let events, let domain):
                    try await line(LiveLine(events: events, domain: domain))
                }
            }
        }
    }

    /// Until the daemon ends.
    private func follow(_ mountPoint: String, _ news: AsyncStream<LiveNews>.Continuation) async {
        guard let socket = try? SocketDirectory.socketPath(mountPoint: mountPoint) else { return }
        _ = try? await ControlClient(socketPath: socket).follow(.events(last: 20, follows: true)) { one in
            if case .events(let events) = one { news.yield(.events(events, mountPoint)) }
        }
    }
}
