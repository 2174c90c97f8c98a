import ContentStore
import FileProvider
import Foundation
import ItemCatalog
import Locking
import Logging
import Trees

/// The download of one generation: its streams, and the waiters for its bytes.
///
/// Lock order: this lock, then the content file's. Continuations are resumed outside this lock.
final class Download: Sendable {
    typealias Continuation = CheckedContinuation<Result<Void, SyncError>, Never>

    private struct Waiter {
        var range: Range<Int64>
        var continuation: Continuation
        var reader: DownloadReader?
    }
    private struct Running {
        var plan: DownloadPlan.Stream
        var task: Task<Void, Never>?
        var lastProgress: ContinuousClock.Instant
        /// `lastProgress` at the last look, and below, the seconds without progress.
        var seenProgress: ContinuousClock.Instant?
        var silent = 0.0
        var unsaved: Int64 = 0
        var received: Int64 = 0
        /// Waits for the bandwidth limit, not for the provider.
        var isHeldBack = false
        /// The stream found the store away; later readers need another stream.
        var isLost = false
    }
    private struct State {
        /// Callers that hold this download and may wait soon.
        var users = 0
        var waiters: [UInt64: Waiter] = [:]
        var streams: [UInt64: Running] = [:]
        var nextID: UInt64 = 0
        var isSuperseded = false
        /// Set while streams run.
        var transfer: Transfer?
    }
    /// The missing bytes are of a version that the store no longer has.
    static let isGone = SyncError.provider(
        FileProviderError(.noSuchItem, "the store deleted it, and not all of its bytes are here; see hydrant resolve"))
    private let state = AdaptiveMutex(State())
    private let mount: MountState
    private let client: StoreClient
    private let remote: RemoteState
    private let reports: EventReports
    private let transfers: Transfers
    private let downloadFailures: DownloadFailures
    private let fetcher: FolderFetcher
    private let watch: StreamWatch
    private let records: DownloadRecords
    let content: ContentFile
    let target: DownloadTarget
    var room: DiskRoom { mount.room }
    var limit: BandwidthLimit { transfers.downloadLimit }

    init(
        mount: MountState, client: StoreClient, remote: RemoteState, reports: EventReports, transfers: Transfers,
        downloadFailures: DownloadFailures, fetcher: FolderFetcher, watch: StreamWatch, records: DownloadRecords,
        content: ContentFile,
        target: DownloadTarget
    ) {
        self.mount = mount
        self.client = client
        self.remote = remote
        self.reports = reports
        self.transfers = transfers
        self.downloadFailures = downloadFailures
        self.fetcher = fetcher
        self.watch = watch
        self.records = records
        self.content = content
        self.target = target
    }

    var isIdle: Bool { state.withLock { $0.streams.isEmpty && $0.waiters.isEmpty && $0.users == 0 } }

    /// Keeps the download from being idle until ``leave()``: a second download of the same generation would ask the
    /// provider again.
    func enter() { state.withLock { $0.users += 1 } }
    func leave() { state.withLock { $0.users -= 1 } }

    /// Waiters may have their bytes before the stream that brings them has ended: records such bytes too.
    func noteIfUnrecorded() {
        if !isIdle, !content.isRecorded { records.add(content, name: target.name) }
    }

    var isAwaited: Bool { state.withLock { !$0.waiters.isEmpty } }

    // MARK: Waiting

    /// Returns when every byte of `range` is here. Cancelling the task ends the wait.
    ///
    /// - Parameter reader: the waiting program; nil: not a program's read.
    func wait(for range: Range<Int64>, by reader: DownloadReader? = nil) async throws(SyncError) {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: Continuation) in
                if Task.isCancelled { return continuation.resume(returning: .failure(.cancelled)) }
                state.withLock { $0.waiters[id] = Waiter(range: range, continuation: continuation, reader: reader) }
                advance()
                if client.isKnownToBeAway { giveUp(id) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
            waiter?.continuation.resume(returning: .failure(.cancelled))
            cancelUnwanted()
        }
        try result.get()
    }

    /// Fails the waiter if a store known to be away is not back in a moment: no program waits for a time-out.
    private func giveUp(_ id: UInt64) {
        Task {
            try? await Task.sleep(for: StoreClient.patienceWhenAway)
            guard let failure = client.connection.knownFailure else { return }
            let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
            waiter?.continuation.resume(returning: .failure(.provider(failure)))
        }
    }

    /// Answers waiters that have their bytes and starts the streams that other waiters need.
    private func advance() {
        let ready = state.withLock { state -> [Continuation] in
            var ready: [Continuation] = []
            for (id, waiter) in state.waiters {
                guard let first = content.missing(in: waiter.range).first else {
                    ready.append(waiter.continuation)
                    state.waiters[id] = nil
                    continue
                }
                startIfNeeded(&state, for: first.lowerBound, waiter.reader)
            }
            return ready
        }
        for continuation in ready { continuation.resume(returning: .success(())) }
    }

    private func startIfNeeded(_ state: inout State, for offset: Int64, _ reader: DownloadReader?) {
        let running = state.streams.values.filter { !$0.isLost }.map(\.plan)
        guard !DownloadPlan.covers(running, offset), running.count < DownloadPlan.mostStreams else { return }
        let gaps = content.missing(in: 0..<content.baseSize)
        if let range = DownloadPlan.stream(from: offset, gaps: gaps, streams: running) { start(&state, range, reader) }
    }

    // MARK: Streams

    private func start(_ state: inout State, _ range: Range<Int64>, _ reader: DownloadReader?) {
        state.nextID += 1
        let id = state.nextID
        if state.transfer == nil {
            let missing = content.missing(in: 0..<content.baseSize).reduce(0) { $0 + Int64($1.count) }
            state.transfer = transfers.begin(
                .download, path: target.name, identifier: target.identifier, inode: target.inode, total: missing)
        }
        var running = Running(
            plan: DownloadPlan.Stream(position: range.lowerBound, end: range.upperBound), task: nil,
            lastProgress: .now)
        running.task = Task(executorPreference: mount.workers) { await self.run(id, range, reader) }
        state.streams[id] = running
    }

    private func run(_ id: UInt64, _ range: Range<Int64>, _ reader: DownloadReader?) async {
        let watching = watch.begin { self.checkProgress(of: id, after: $0) }
        defer { watch.end(watching) }
        let started = ContinuousClock.now
        let process = reader?.process
        var last = UInt64.max
        let moment = remote.ownChanges.ask()
        defer { remote.ownChanges.answered() }
        var failure: SyncError?
        var refusal: FileProviderError?
        do {
            try await client.provide(
                target.identifier, version: target.version, range: range,
                into: StreamSink(download: self, id: id, range: range), at: target.name, for: process,
                forget: { self.records.forget(range, of: self.content, name: self.target.name) }
            ) { error in
                // Before the failure becomes visible, so that a later read does not get this stream's failure.
                let isLost = error.map { StoreConnection.isAway($0.code) } ?? false
                return state.withLock { state in
                    state.streams[id]?.isLost = isLost
                    if isLost { last = state.nextID }
                    return state.streams[id]?.received ?? 0
                }
            }
            if let missing = content.missing(in: range).first {
                failure = .untrusted(
                    "\(target.name): the provider ended the download at byte \(missing.lowerBound) of \(range.upperBound)"
                )
            }
        } catch {
            refusal = error
            failure = SyncError(error)
            // A failure of our disk is not the provider's.
            if let local = error.cause as? ContentError { failure = .content(local) }
        }
        if refusal?.code == .noSuchItem, isHidden(since: moment) {
            // The next stream finds the document at its new place.
            records.add(content, name: target.name)
            await restart(id)
        } else {
            await finished(id, range, failure, process, since: started, last)
        }
        endTransferIfIdle()
    }

    /// Whether we are moving a folder above the document, or were when the stream began.
    private func isHidden(since moment: UInt64) -> Bool {
        (try? mount.catalog.read { try remote.ownChanges.mayHide(target.identifier, since: moment, $0) }) ?? false
    }

    /// Ends the stream and starts another a moment later for the remaining waiters.
    private func restart(_ id: UInt64) async {
        try? await Task.sleep(for: .milliseconds(300))
        state.withLock { $0.streams[id] = nil }
        advance()
    }

    private func endTransferIfIdle() {
        let ended = state.withLock { state -> Transfer? in
            guard state.streams.isEmpty else { return nil }
            return state.transfer.take()
        }
        if let ended { transfers.end(ended) }
    }

    /// Waits until the bandwidth limit lets this many bytes of a stream come.
    func holdBack(_ id: UInt64, for count: Int) async throws(FileProviderError) {
        let transfer = state.withLock { state -> Transfer? in
            state.streams[id]?.isHeldBack = true
            return state.transfer
        }
        defer {
            state.withLock { state in
                state.streams[id]?.isHeldBack = false
                state.streams[id]?.lastProgress = .now
            }
        }
        guard let transfer else { return }
        do { try await transfers.downloadLimit.take(count, for: transfer.id) } catch {
            throw FileProviderError(.cancelled, "\(target.name): the download was cancelled: no program waits for it")
        }
    }

    /// Stores bytes that came and resumes their waiters.
    func received(_ id: UInt64, _ bytes: [UInt8], at offset: Int64) throws(FileProviderError) {
        guard state.withLock({ $0.streams[id] != nil }), !Task.isCancelled else {
            throw FileProviderError(.cancelled, "\(target.name): the download was cancelled: no program waits for it")
        }
        do {
            try bytes.withUnsafeBytes { try content.store($0, at: offset) }
        } catch {
            throw FileProviderError(.insufficientQuota, "\(error)", cause: error)
        }
        let (isFirst, mustSave) = state.withLock { state in
            let isFirst = state.streams[id]?.received == 0
            state.streams[id]?.plan.position = offset + Int64(bytes.count)
            state.streams[id]?.lastProgress = .now
            state.streams[id]?.unsaved += Int64(bytes.count)
            state.streams[id]?.received += Int64(bytes.count)
            state.transfer?.move(Int64(bytes.count))
            guard let unsaved = state.streams[id]?.unsaved, unsaved >= 64 << 20 else { return (isFirst, false) }
            state.streams[id]?.unsaved = 0
            return (isFirst, true)
        }
        // (Not only at the stream's end: a reader of a part may have its bytes long before.)
        if isFirst { downloadFailures.succeeded(target.inode) }
        advance()
        if mustSave { records.add(content, name: target.name) }
    }

    /// - Parameter last: later waiters do not get this stream's failure.
    private func finished(
        _ id: UInt64, _ range: Range<Int64>, _ failure: SyncError?, _ process: CausingProcess?,
        since started: ContinuousClock.Instant, _ last: UInt64
    ) async {
        records.add(content, name: target.name)
        guard state.withLock({ $0.streams[id] != nil }) else { return }
        switch failure {
        case nil, .cancelled:
            if failure == nil { downloadFailures.succeeded(target.inode) }
            state.withLock { $0.streams[id] = nil }
            advance()
            follow(after: range.upperBound)
        case .provider(let error) where error.code == .versionMismatch || error.code == .noSuchItem:
            state.withLock { $0.isSuperseded = true }
            // Updates the catalog first, so that waiters find the new version.
            await RemoteRefresh(mount: mount, client: client, remote: remote, fetcher: fetcher).refresh(
                target.identifier, known: error.item)
            let item = (try? mount.catalog.read { try $0.item(of: target.inode) }) ?? nil
            guard item?.heldSince != nil else { return fail(id, .superseded) }
            // The document's deletion is held, and there is no other version; the store may get the document back.
            state.withLock { $0.isSuperseded = false }
            report(Self.isGone, process)
            fail(id, Self.isGone)
        case .some(let failure) where client.isOutdated(failure, since: started):
            await restart(id)
        case .some(let failure):
            report(failure, process)
            fail(id, failure, upTo: last)
        }
    }

    /// Reports a failure in the log, in the events, and in the document's status.
    private func report(_ failure: SyncError, _ process: CausingProcess?) {
        let next = FailureTable.next(reading: failure)
        mount.logger.warning(
            "download failed", metadata: ["item": "\(target.name)", "error": "\(failure)", "next": "\(next)"])
        downloadFailures.failed(target.inode, FailureTable.line(target.name, failure.description, next))
        reports.failure(failure, at: target.name, target.identifier, next: next, process: process)
    }

    /// While the document is open, downloads the rest too.
    private func follow(after last: Int64) {
        guard mount.volume?.isOpen(target.inode) == true else { return }
        state.withLock { state in
            guard state.streams.isEmpty, !state.isSuperseded else { return }
            let gaps = content.missing(in: 0..<content.baseSize)
            if let range = DownloadPlan.following(last, gaps: gaps) { start(&state, range, nil) }
        }
    }

    /// Ends a stream and fails the waiters up to `last` that no other stream serves.
    private func fail(_ id: UInt64, _ failure: SyncError, upTo last: UInt64 = .max) {
        let failed = state.withLock { state -> [Continuation] in
            state.streams.removeValue(forKey: id)?.task?.cancel()
            let others = state.streams.values.filter { !$0.isLost }.map(\.plan)
            var failed: [Continuation] = []
            for (key, waiter) in state.waiters where key <= last {
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

    /// Fails a stream that makes no progress.
    private func checkProgress(of id: UInt64, after seconds: Double) {
        let silent = state.withLock { state -> Double in
            guard var stream = state.streams[id] else { return 0 }
            let isSilent = stream.lastProgress == stream.seenProgress && !stream.isHeldBack
            stream.silent = isSilent ? stream.silent + seconds : 0
            stream.seenProgress = stream.lastProgress
            state.streams[id] = stream
            return stream.silent
        }
        guard silent >= mount.times.readTimeout else { return }
        report(.timedOut(target.name), nil)
        fail(id, .timedOut(target.name))
        endTransferIfIdle()
    }

    /// The last program closed the document: cancels streams that nobody waits for.
    func cancelUnwanted() {
        if mount.volume?.isOpen(target.inode) == true { return }
        let unwanted = state.withLock { state -> [Task<Void, Never>] in
            guard state.waiters.isEmpty else { return [] }
            return state.streams.values.compactMap(\.task)
        }
        for task in unwanted { task.cancel() }
    }
}

/// Receives one stream's bytes; refuses bytes outside the requested range.
private struct StreamSink: ContentSink {
    let download: Download
    let id: UInt64
    let range: Range<Int64>

    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        guard offset >= range.lowerBound, Int64(bytes.count) <= range.upperBound - offset else {
            throw FileProviderError(
                .cannotSynchronize,
                "\(download.target.name): the provider sent \(bytes.count) bytes at \(offset), outside \(range)"
            )
        }
        var done = 0
        while done < bytes.count {
            // With a limit, in pieces, so that bytes come at its rate.
            let piece = download.limit.piece.map { min($0, bytes.count - done) }
            if let piece { try await download.holdBack(id, for: piece) }
            let count = piece ?? bytes.count - done
            try await take(
                count == bytes.count ? bytes : Array(bytes[done..<done + count]), at: offset + Int64(done))
            done += count
        }
    }

    private func take(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        let room = download.room
        do { try await room.begin(bytes.count) } catch {
            throw FileProviderError(.insufficientQuota, error.message, cause: error)
        }
        defer { room.end(bytes.count) }
        while true {
            do { return try download.received(id, bytes, at: offset) } catch {
                guard (error.cause as? ContentError)?.code == .diskFull, await room.makeAfterRefusal(of: bytes.count)
                else { throw error }
            }
        }
    }
}
