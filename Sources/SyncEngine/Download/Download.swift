import ContentStore
import FileProvider
import Foundation
import ItemCatalog
import Logging
import Synchronization

/// The download of one generation: its streams, and who waits for which bytes.
///
/// Lock order: this lock, then the content file's. Continuations are resumed outside it.
final class Download: Sendable {
    typealias Continuation = CheckedContinuation<Result<Void, SyncError>, Never>

    private struct Waiter {
        var range: Range<Int64>
        var continuation: Continuation
    }
    private struct Running {
        var plan: DownloadPlan.Stream
        var task: Task<Void, Never>?
        var lastProgress: ContinuousClock.Instant
        var unsaved: Int64 = 0
    }
    private struct State {
        var waiters: [UInt64: Waiter] = [:]
        var streams: [UInt64: Running] = [:]
        var nextID: UInt64 = 0
        var attempts = 0
        var isSuperseded = false
    }
    private let state = Mutex(State())
    private let context: SyncContext
    private let fetcher: FolderFetcher
    let content: ContentFile
    let target: DownloadTarget

    init(context: SyncContext, fetcher: FolderFetcher, content: ContentFile, target: DownloadTarget) {
        self.context = context
        self.fetcher = fetcher
        self.content = content
        self.target = target
    }

    var isIdle: Bool { state.withLock { $0.streams.isEmpty && $0.waiters.isEmpty } }

    // MARK: Waiting

    /// Returns when every byte of `range` is here. Cancelling the task ends the wait.
    func wait(for range: Range<Int64>) async throws(SyncError) {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: Continuation) in
                if Task.isCancelled { return continuation.resume(returning: .failure(.cancelled)) }
                state.withLock { $0.waiters[id] = Waiter(range: range, continuation: continuation) }
                advance()
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
            waiter?.continuation.resume(returning: .failure(.cancelled))
            cancelUnwanted()
        }
        try result.get()
    }

    /// Answers waiters that have their bytes and starts the streams that the others need.
    private func advance() {
        let ready = state.withLock { state -> [Continuation] in
            var ready: [Continuation] = []
            for (id, waiter) in state.waiters {
                guard let first = content.missing(in: waiter.range).first else {
                    ready.append(waiter.continuation)
                    state.waiters[id] = nil
                    continue
                }
                startIfNeeded(&state, for: first.lowerBound)
            }
            return ready
        }
        for continuation in ready { continuation.resume(returning: .success(())) }
    }

    private func startIfNeeded(_ state: inout State, for offset: Int64) {
        let running = state.streams.values.map(\.plan)
        guard !DownloadPlan.covers(running, offset), running.count < DownloadPlan.mostStreams else { return }
        let gaps = content.missing(in: 0..<content.baseSize)
        if let range = DownloadPlan.stream(from: offset, gaps: gaps, streams: running) { start(&state, range) }
    }

    // MARK: Streams

    private func start(_ state: inout State, _ range: Range<Int64>) {
        state.nextID += 1
        let id = state.nextID
        var running = Running(
            plan: DownloadPlan.Stream(position: range.lowerBound, end: range.upperBound), task: nil,
            lastProgress: .now)
        running.task = Task(executorPreference: context.workers) { await self.run(id, range) }
        state.streams[id] = running
    }

    private func run(_ id: UInt64, _ range: Range<Int64>) async {
        let watchdog = Task { await self.watch(id) }
        defer { watchdog.cancel() }
        var failure: SyncError?
        do {
            context.logger.debug(
                "startProvidingItem", metadata: ["item": "\(target.name)", "range": "\(range)"])
            try await context.provider.startProvidingItem(
                target.identifier, version: target.version, range: range,
                into: StreamSink(download: self, id: id, range: range))
            if let missing = content.missing(in: range).first {
                failure = .untrusted(
                    "\(target.name): the provider ended the download at byte \(missing.lowerBound) of \(range.upperBound)"
                )
            }
        } catch {
            failure = SyncError(error)
        }
        await finished(id, range, failure)
    }

    /// Bytes came: they count, and whoever waited for them goes on.
    func received(_ id: UInt64, _ bytes: [UInt8], at offset: Int64) throws(FileProviderError) {
        guard state.withLock({ $0.streams[id] != nil }), !Task.isCancelled else {
            throw FileProviderError(.cancelled, "\(target.name): nobody waits for the bytes any more")
        }
        do {
            try bytes.withUnsafeBytes { try content.store($0, at: offset) }
        } catch {
            throw FileProviderError(.insufficientQuota, "\(error)", cause: error)
        }
        let mustSave = state.withLock { state in
            state.streams[id]?.plan.position = offset + Int64(bytes.count)
            state.streams[id]?.lastProgress = .now
            state.streams[id]?.unsaved += Int64(bytes.count)
            guard let unsaved = state.streams[id]?.unsaved, unsaved >= 64 << 20 else { return false }
            state.streams[id]?.unsaved = 0
            return true
        }
        advance()
        if mustSave { save() }
    }

    private func finished(_ id: UInt64, _ range: Range<Int64>, _ failure: SyncError?) async {
        save()
        guard state.withLock({ $0.streams[id] != nil }) else { return }
        switch failure {
        case nil, .cancelled:
            state.withLock { state in
                state.streams[id] = nil
                state.attempts = 0
            }
            advance()
            follow(after: range.upperBound)
        case .provider(let error) where error.code == .versionMismatch || error.code == .noSuchItem:
            state.withLock { $0.isSuperseded = true }
            // The catalog learns of it first, so that whoever waited finds the new version.
            await RemoteRefresh(context: context, fetcher: fetcher).refresh(target.identifier, known: error.item)
            fail(id, .superseded)
        case .provider(let error) where [.cannotSynchronize, .busy].contains(error.code) && mayRetry():
            try? await Task.sleep(for: .milliseconds(300))
            state.withLock { $0.streams[id] = nil }
            advance()
        case .some(let failure):
            context.logger.warning("download failed", metadata: ["item": "\(target.name)", "error": "\(failure)"])
            fail(id, failure)
        }
    }

    private func mayRetry() -> Bool {
        state.withLock { state in
            state.attempts += 1
            return state.attempts <= 3
        }
    }

    /// While the document is open, the rest comes too.
    private func follow(after last: Int64) {
        guard context.volume?.isOpen(target.inode) == true else { return }
        state.withLock { state in
            guard state.streams.isEmpty, !state.isSuperseded else { return }
            let gaps = content.missing(in: 0..<content.baseSize)
            if let range = DownloadPlan.following(last, gaps: gaps) { start(&state, range) }
        }
    }

    /// Ends a stream and fails whoever no other stream serves.
    private func fail(_ id: UInt64, _ failure: SyncError) {
        let failed = state.withLock { state -> [Continuation] in
            state.streams.removeValue(forKey: id)?.task?.cancel()
            let others = state.streams.values.map(\.plan)
            var failed: [Continuation] = []
            for (key, waiter) in state.waiters {
                guard let first = content.missing(in: waiter.range).first else { continue }
                if DownloadPlan.covers(others, first.lowerBound) { continue }
                failed.append(waiter.continuation)
                state.waiters[key] = nil
            }
            return failed
        }
        for continuation in failed { continuation.resume(returning: .failure(failure)) }
        advance()
    }

    /// Fails a stream that brings nothing. Time in which the machine sleeps does not count.
    private func watch(_ id: UInt64) async {
        var silent = 0.0
        var seen: ContinuousClock.Instant?
        let step = min(1, context.times.readTimeout / 4)
        while (try? await Task.sleep(for: .seconds(step), clock: .suspending)) != nil {
            guard let last = state.withLock({ $0.streams[id]?.lastProgress }) else { return }
            silent = last == seen ? silent + step : 0
            seen = last
            if silent >= context.times.readTimeout { return fail(id, .timedOut(target.name)) }
        }
    }

    /// The last program closed the document: what nobody waits for need not come.
    func cancelUnwanted() {
        if context.volume?.isOpen(target.inode) == true { return }
        let unwanted = state.withLock { state -> [Task<Void, Never>] in
            guard state.waiters.isEmpty else { return [] }
            return state.streams.values.compactMap(\.task)
        }
        for task in unwanted { task.cancel() }
    }

    // MARK: What is here survives a restart

    private func save() {
        do {
            // The ranges are read first: an extent counts as durable only after the fdatasync.
            let extents = content.present
            try content.synchronize()
            let generation = content.id.number
            let inode = try context.catalog.write { writer in
                try writer.recordExtents(target.inode, generation: generation, extents: extents)
                return try writer.inodeIfPresent(target.inode)
            }
            if extents == nil, let inode, inode.generation == generation, inode.writing == nil {
                try content.setModified(inode.modified.nanoseconds)
            }
            context.volume?.catalogChanged([.attributes(target.inode)])
        } catch {
            context.logger.error("cannot record a download", metadata: ["item": "\(target.name)", "error": "\(error)"])
        }
    }
}

/// Where one stream's bytes go; refuses those outside the range that was asked for.
private struct StreamSink: ContentSink {
    let download: Download
    let id: UInt64
    let range: Range<Int64>

    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        guard offset >= range.lowerBound, Int64(bytes.count) <= range.upperBound - offset else {
            throw FileProviderError(
                .cannotSynchronize,
                "\(download.target.name): the provider sent bytes \(offset)..<\(offset + Int64(bytes.count)) outside \(range)"
            )
        }
        if bytes.isEmpty { return }
        try download.received(id, bytes, at: offset)
    }
}
