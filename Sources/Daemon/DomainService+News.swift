import ControlAPI
import DocumentServices
import FileProvider
import Foundation
import ItemCatalog
import Surroundings
import SyncEngine
import Trees
import Volume

/// Events, and the progress of requests.
extension DomainService {
    func respond(to request: ControlRequest, sendingNewsTo listener: ControlListener) async -> ControlResponse {
        switch request {
        case .events(let last, let follows): return await events(last: last, follows: follows, listener)
        case .reporting(let request): return await reporting(request, listener)
        case .coordinate(let request): return await coordination.coordinate(request, listener)
        case .present(let request): return await coordination.present(request, listener)
        case .fetch(let path): return await picking.fetch(path, listener) { await download([path], $0) }
        case .copyVersion(let path, let version, let descriptor):
            return await copyVersion(version, of: path, into: descriptor, of: listener.peer)
        case .query(let request): return await queries.query(request, listener)
        case .access(let request): return await bookmarks.access(request, from: listener.process, listener)
        default: return await respond(to: request)
        }
    }

    // MARK: Events

    private static let mostEventsAtOnce = 100

    private func events(last: Int, follows: Bool, _ listener: ControlListener) async -> ControlResponse {
        let log = volume.engine.reports.log.listen(last: last)
        do {
            while true {
                let most = Self.mostEventsAtOnce
                let batch = follows ? await log.next(most: most) : log.now(most: most)
                guard let batch, !batch.events.isEmpty else { return .done }
                var records = batch.events.map(record)
                if batch.lost > 0 { records.insert(lost(batch.lost, before: records[0]), at: 0) }
                try await listener.send(.events(records))
            }
        } catch {
            // The client has hung up.
            return .done
        }
    }

    private func record(_ event: SyncEvent) -> EventRecord {
        EventRecord(
            time: Self.time(event.moment.nanoseconds), event: event.kind.rawValue, path: event.path.map(absolute),
            identifier: event.identifier?.rawValue, bytes: event.bytes,
            durationMs: event.duration.map { ($0 / .microseconds(1)).rounded() / 1_000 },
            process: event.process.map { EventRecord.Process(pid: $0.pid, name: $0.name) }, code: event.code,
            message: event.message)
    }

    private func lost(_ count: Int, before next: EventRecord) -> EventRecord {
        EventRecord(
            time: next.time, event: EventRecord.lost,
            message: "\(count == 1 ? "1 event is" : "\(count) events are") lost: this reader is too slow",
            count: count)
    }

    /// ISO 8601, UTC.
    private static func time(_ nanoseconds: Int64) -> String {
        var seconds = time_t(nanoseconds / 1_000_000_000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        return String(
            format: "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1_900, parts.tm_mon + 1, parts.tm_mday,
            parts.tm_hour, parts.tm_min, parts.tm_sec, nanoseconds / 1_000_000 % 1_000)
    }

    private func absolute(_ path: String) -> String { path.isEmpty ? mountPoint : mountPoint + "/" + path }

    // MARK: Progress

    private func reporting(_ request: ControlRequest, _ listener: ControlListener) async -> ControlResponse {
        let tally = Tally()
        switch request {
        case .download(let paths):
            return await reporting(listener, { tally.progress($0, domainPaths.running) }) {
                .outcomes(await download(paths, tally))
            }
        case .pin(let paths, waits: true):
            return await reporting(listener, { tally.progress($0, domainPaths.running) }) {
                .outcomes(await download(paths, pinning: true, tally))
            }
        case .sync:
            let most = (try? volume.engine.pending().count) ?? 0
            return await reporting(listener, { uploads($0, most) }) { await respond(to: request) }
        default:
            return .failure(
                ControlFailure(code: ControlFailure.notReported, message: "this request has no reports"))
        }
    }

    private func reporting(
        _ listener: ControlListener, _ progress: @escaping @Sendable ([Transfer]) -> TransferProgress,
        _ work: @escaping @Sendable () async -> ControlResponse
    ) async -> ControlResponse {
        await withTaskGroup(of: ControlResponse?.self) { group in
            group.addTask { await work() }
            group.addTask {
                var last: TransferProgress?
                while (try? await Task.sleep(for: .milliseconds(250))) != nil {
                    let now = progress(volume.engine.transfers.now())
                    // When the client has gone, the request's task is cancelled as well.
                    if now != last, (try? await listener.send(.progress(now))) == nil { break }
                    last = now
                }
                return nil
            }
            var answer = ControlResponse.done
            for await response in group {
                guard let response else { continue }
                answer = response
                group.cancelAll()
            }
            return answer
        }
    }

    private func uploads(_ transfers: [Transfer], _ most: Int) -> TransferProgress {
        let own = transfers.filter { $0.direction == .upload }
        let left = (try? volume.engine.pending().count) ?? 0
        return TransferProgress(
            done: max(0, most - left), total: max(most, left), bytes: own.map(\.done).boundedSum,
            bytesTotal: own.map(\.total).boundedSum, running: own.map(domainPaths.running))
    }

    func transfers() -> [RunningTransfer] { volume.engine.transfers.now().map(domainPaths.running) }
}
