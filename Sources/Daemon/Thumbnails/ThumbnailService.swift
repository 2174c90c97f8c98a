import ControlAPI
import FileProvider
import Foundation
import ItemCatalog
import Logging
import Pictures
import SyncEngine
import Synchronization
import Trees
import Volume

/// Puts pictures of the documents in folders that a user looks at into the user's cache of thumbnails, so that file
/// managers need not open the documents. Works in the background with limits on number and speed; downloads no
/// document.
final class ThumbnailService: Sendable {
    private struct Visit {
        var folder: InodeID
        var thread: Int32
        var moment: ContinuousClock.Instant
    }
    /// The time until which a document without a picture is not tried again.
    private struct Silence {
        var stamp: Stamp
        var until: ContinuousClock.Instant
        var count: Int
    }
    fileprivate struct Stamp: Equatable {
        var modified: FileTime
        var size: Int64
        var isWhole: Bool
    }
    /// The signals of one run; a stream of a run that has ended cannot be iterated again.
    private struct Signals: Sendable {
        struct Signal: Sendable {
            let stream: AsyncStream<Void>
            let send: AsyncStream<Void>.Continuation
            init() { (stream, send) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }
        }
        let desk = Signal()
        let makers = [Signal(), Signal()]
    }
    private struct State {
        var isOn = false
        var isClosed = false
        var visits: [Visit] = []
        /// Folders that a user looked at recently, and when.
        var recent: [InodeID: ContinuousClock.Instant] = [:]
        /// Documents that need a picture.
        var wanted: Set<InodeID> = []
        var changed = ChangedRows()
        /// Documents for the thumbnailers; the last one is the next.
        var jobs: [InodeID] = []
        var silent: [InodeID: Silence] = [:]
        var task: Task<Void, Never>?
        var watch: Int?
        var signals: Signals?
        /// The number of runs that have not ended.
        var runs = 0
    }

    private let volume: Volume
    private let mountPoint: String
    /// Nil: the user has no cache, or the cache lies in the mount.
    private let cache: ThumbnailCache?
    private let ledger: ThumbnailLedger
    let pictures: DocumentPictures
    private let isConfigured: Bool
    private let state = Mutex(State())
    /// Serializes changes of the ledger and the cache: one document's picture may move to another's path.
    private let order = Mutex(())

    private static let note = "thumbnails"
    /// The time over which events are collected.
    private static let pause: Duration = .milliseconds(200)
    /// A process that lists more folders than this within `walk` walks a tree: its folders are ignored.
    private static let mostFolders = 6
    private static let walk: Duration = .seconds(2)
    /// The limit on documents of one folder, each time that a user looks at the folder.
    private static let mostOfFolder = 2_000
    private static let atOnce = 4
    private static let mostWanted = 2_000
    private static let mostSilent = 20_000
    /// The time for which the changes in a folder are followed after a user has looked at it.
    private static let recently: Duration = .seconds(600)
    private static let mostRecent = 64
    /// The times until the next attempts for a document without a picture.
    private static let silences: [Duration] = [.seconds(2), .seconds(10), .seconds(60), .seconds(600)]

    private var mount: MountState { volume.engine.mount }
    private var switches: SyncSwitches { volume.engine.switches }

    /// - Parameter isConfigured: the default for a domain without a setting of its own.
    init(volume: Volume, mountPoint: String, stateDirectory: String, cache: ThumbnailCache?, isConfigured: Bool) {
        self.volume = volume
        self.mountPoint = mountPoint
        let isInside = cache.map { ($0.folder + "/").hasPrefix(mountPoint + "/") } ?? false
        self.cache = isInside ? nil : cache
        self.isConfigured = isConfigured
        ledger = ThumbnailLedger(stateDirectory: stateDirectory)
        pictures = DocumentPictures(
            volume.engine, stateDirectory: stateDirectory)
    }

    // MARK: On and off

    /// Restores the last setting.
    func begin() {
        volume.engine.onFolderListed { [weak self] folder, thread in self?.visited(folder, thread) }
        volume.engine.reports.onRefusal { [weak self] inode in self?.want(inode) }
        let said = try? mount.catalog.read { try $0.note(Self.note) }
        if said.flatMap({ $0 }).map({ $0 == "on" }) ?? isConfigured { start() }
    }

    /// - Returns: the state; a change is recorded when this returns.
    func set(_ isOn: Bool?) async throws -> ThumbnailStatus {
        if let isOn {
            try mount.catalog.write { try $0.takeNote(Self.note, isOn ? "on" : "off") }
            if isOn {
                start()
            } else {
                await stop()
                removeAll()
            }
        }
        return ThumbnailStatus(
            isOn: state.withLock { $0.isOn }, documents: ledger.all.filter { !$0.hasFailed }.count,
            folder: cache?.folder)
    }

    private func start() {
        guard cache != nil else { return }
        let signals = Signals()
        let isNew = state.withLock { state in
            guard !state.isOn, !state.isClosed else { return false }
            (state.isOn, state.signals) = (true, signals)
            state.runs += 1
            return true
        }
        guard isNew else { return }
        let watch = try? mount.catalog.watchRows { [weak self] in self?.changed($0) }
        let task = Task(executorPreference: mount.workers) { [weak self] in
            await self?.run(signals)
            self?.state.withLock { $0.runs -= 1 }
        }
        state.withLock { ($0.task, $0.watch) = (task, watch) }
    }

    private func stop() async {
        let (task, watch) = state.withLock { state in
            defer {
                (state.isOn, state.task, state.watch, state.signals) = (false, nil, nil, nil)
                (state.visits, state.wanted, state.jobs, state.silent) = ([], [], [], [:])
            }
            return (state.task, state.watch)
        }
        task?.cancel()
        if let watch { mount.catalog.unwatchRows(watch) }
        // (Do not wait for a provider that does not answer.)
        for _ in 0..<200 where state.withLock({ $0.runs > 0 }) { try? await Task.sleep(for: .milliseconds(10)) }
    }

    func close() async {
        state.withLock { $0.isClosed = true }
        await stop()
    }

    /// At a sign-out: removes all pictures of the domain from the cache.
    func removeAll() { ledger.removeAll(from: cache) }

    private func wake() { state.withLock { $0.signals }?.desk.send.yield() }

    private func wakeMakers() {
        for maker in state.withLock({ $0.signals })?.makers ?? [] { maker.send.yield() }
    }

    // MARK: Events

    private func visited(_ folder: InodeID, _ thread: Int32) {
        let isTaken = state.withLock { state in
            guard state.isOn else { return false }
            if state.visits.count >= 256 { state.visits.removeFirst(128) }
            state.visits.append(Visit(folder: folder, thread: thread, moment: .now))
            return true
        }
        if isTaken { wake() }
    }

    private func want(_ inode: InodeID) {
        let isTaken = state.withLock { state in
            guard state.isOn, state.wanted.count < Self.mostWanted else { return false }
            return state.wanted.insert(inode).inserted
        }
        if isTaken { wake() }
    }

    private func changed(_ rows: ChangedRows) {
        let isOfUse = state.withLock { state in
            guard state.isOn, !state.recent.isEmpty || !ledger.isEmpty else { return false }
            state.changed.add(rows)
            return true
        }
        if isOfUse { wake() }
    }

    // MARK: Running

    private func run(_ signals: Signals) async {
        await withTaskGroup(of: Void.self) { group in
            for maker in signals.makers {
                group.addTask { [self] in
                    for await _ in maker.stream {
                        while !Task.isCancelled, let inode = state.withLock({ $0.jobs.popLast() }) { make(inode) }
                        if Task.isCancelled { return }
                    }
                }
            }
            checkAll()
            // (The folders that were shown before the service was switched off.)
            for folder in state.withLock({ Array($0.recent.keys) }) { await show(folder) }
            for await _ in signals.desk.stream {
                guard (try? await Task.sleep(for: Self.pause)) != nil else { break }
                takeChanges()
                let folders = takeVisits()
                let wanted = state.withLock { state in
                    defer { state.wanted = [] }
                    return state.wanted
                }
                await provide(wanted.compactMap { inode in row(inode) }, again: true)
                for folder in folders {
                    if Task.isCancelled || switches.isMasked { break }
                    await show(folder)
                }
                if Task.isCancelled { break }
            }
            group.cancelAll()
        }
    }

    /// Returns the folders that a user looks at, the last one first.
    private func takeVisits() -> [InodeID] {
        let now = ContinuousClock.now
        let visits = state.withLock { state in
            defer { state.visits.removeAll { now - $0.moment > Self.walk || !state.isOn } }
            return state.visits
        }
        var processes: [Int32: (pid: Int32, isDenied: Bool)] = [:]
        var folders: [Int32: Set<InodeID>] = [:]
        for visit in visits {
            if processes[visit.thread] == nil {
                let verdict = volume.engine.reports.policy.judgement(onThread: visit.thread)
                processes[visit.thread] = (verdict.process?.pid ?? visit.thread, verdict.decision == .deny)
            }
            folders[processes[visit.thread]!.pid, default: []].insert(visit.folder)
        }
        var found: [InodeID] = []
        for visit in visits.reversed() where !found.contains(visit.folder) {
            guard let process = processes[visit.thread], !process.isDenied,
                folders[process.pid]?.count ?? 0 <= Self.mostFolders
            else { continue }
            found.append(visit.folder)
        }
        state.withLock { state in
            // (Show each folder once; visits stay in the list, to detect walks.)
            let isNew = found.filter { state.recent[$0].map { now - $0 > Self.walk } ?? true }
            found = isNew
            for folder in found { state.recent[folder] = now }
            state.recent = state.recent.filter { now - $0.value < Self.recently }
            if state.recent.count > Self.mostRecent {
                let oldest = state.recent.sorted { $0.value < $1.value }.prefix(state.recent.count - Self.mostRecent)
                for folder in oldest { state.recent[folder.key] = nil }
            }
        }
        return found
    }

    private func row(_ inode: InodeID) -> SearchRow? {
        (try? mount.catalog.readAside { try $0.searchRows(of: inode).first }).flatMap { $0 }
    }

    private func show(_ folder: InodeID) async {
        var last: Int64?
        var count = 0
        while count < Self.mostOfFolder, !Task.isCancelled {
            let rows = (try? mount.catalog.readAside { try $0.searchRows(in: folder, after: last, limit: 200) }) ?? []
            guard let end = rows.last else { return }
            last = end.number
            count += rows.count
            await provide(rows, again: false)
        }
    }

    /// - Parameter again: a program wants these pictures: try documents without one again soon.
    private func provide(_ rows: [SearchRow], again: Bool) async {
        var rest = rows.filter { needs($0) }[...]
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.atOnce {
                if let row = rest.popFirst() { group.addTask { await self.provide(row, again) } }
            }
            while await group.next() != nil {
                if let row = rest.popFirst(), !Task.isCancelled { group.addTask { await self.provide(row, again) } }
            }
        }
        wakeMakers()
    }

    private func needs(_ row: SearchRow) -> Bool {
        guard row.kind == .document, row.size > 0, row.name.bytes.first != UInt8(ascii: "."), let cache else {
            return false
        }
        let silence = state.withLock { $0.silent[row.inode] }
        if let silence, silence.stamp == Stamp(row), silence.until > .now { return false }
        guard let uri = uri(row.inode) else { return false }
        if let entry = ledger[row.inode] {
            if entry.uri == uri, isCurrent(entry, row) {
                if entry.hasFailed { return !row.isWhole || !cache.hasFailed(uri, modified: entry.modified) }
                return access(cache.path(of: uri, .xxLarge), F_OK) != 0
            }
            check(entry)
        }
        // A file manager may have made a picture while the document was downloaded.
        return !cache.has(uri, modified: row.modified.seconds, .xxLarge)
    }

    private func provide(_ row: SearchRow, _ again: Bool) async {
        guard let (record, item) = try? volume.inspect(row.inode), let item else { return }
        let contents = ThumbnailLedger.Contents(record, item)
        if let given = pictures.given(item), put(given, row, contents, isGiven: true) { return }
        let canMake = row.isWhole && pictures.canMake(row.name)
        if pictures.isKept || !canMake {
            if let found = await ask(item, record), put(found, row, contents) { return }
        }
        if canMake, !(ledger[row.inode]?.hasFailed ?? false) {
            state.withLock { state in
                if !state.jobs.contains(row.inode) { state.jobs.append(row.inode) }
                if state.jobs.count > Self.mostWanted { state.jobs.removeFirst() }
            }
            return
        }
        hasNone(row, again)
    }

    private func ask(_ item: ItemRecord, _ record: InodeRecord) async -> Thumbnail? {
        guard !switches.pause.isOn, !switches.isMasked,
            volume.engine.client.connection.failure == nil || !pictures.isMade
        else {
            return nil
        }
        return (try? await pictures.stores(item, record, size: ThumbnailCache.Size.xxLarge.pixels)).flatMap { $0 }
    }

    /// Records that there is no picture now. The picture of a new document may still arrive: retry soon.
    private func hasNone(_ row: SearchRow, _ again: Bool) {
        let silence = state.withLock { state -> Silence in
            if state.silent.count >= Self.mostSilent { state.silent = [:] }
            let old = state.silent[row.inode].flatMap { $0.stamp == Stamp(row) ? $0 : nil }
            let count = (old?.count ?? -1) + 1
            let pause = Self.silences[min(count, Self.silences.count - 1)]
            let silence = Silence(stamp: Stamp(row), until: .now + pause, count: count)
            state.silent[row.inode] = silence
            return silence
        }
        guard again, silence.count < 2 else { return }
        Task { [weak self] in
            try? await Task.sleep(until: silence.until + .milliseconds(50))
            self?.want(row.inode)
        }
    }

    /// Runs a thumbnailer. Blocks.
    private func make(_ inode: InodeID) {
        guard let row = row(inode), needs(row), let contents = contents(inode) else { return }
        switch pictures.make(inode, named: row.name) {
        case .picture(let raster): put(raster, row, contents, isMade: true)
        case .notNow: hasNone(row, false)
        case .none:
            mount.logger.debug("no thumbnail can be made", metadata: ["document": "\(row.name)"])
            guard let cache, let uri = uri(inode) else { return }
            do {
                let bytes = try cache.installFailure(of: uri, modified: row.modified.seconds)
                note(row, uri, contents, bytes) { $0.hasFailed = true }
            } catch { hasNone(row, false) }
        }
    }

    // MARK: The cache

    func uri(_ inode: InodeID) -> String? {
        guard let names = (try? mount.catalog.readAside { try $0.path(of: inode) }).flatMap({ $0 }) else {
            return nil
        }
        return Self.uri(mountPoint, names.map(\.bytes))
    }

    static func uri(_ mountPoint: String, _ names: [[UInt8]]) -> String {
        "file://" + DocumentURL.encode(names.reduce(Array(mountPoint.utf8)) { $0 + [UInt8(ascii: "/")] + $1 })
    }

    /// - Returns: false: the data is no picture, or there is no room for it.
    private func put(
        _ thumbnail: Thumbnail, _ row: SearchRow, _ contents: ThumbnailLedger.Contents, isGiven: Bool = false
    ) -> Bool {
        guard let raster = Raster(Data(thumbnail.bytes)) else {
            mount.logger.info("a thumbnail cannot be read", metadata: ["document": "\(row.name)"])
            return false
        }
        return put(raster, row, contents, isGiven: isGiven)
    }

    @discardableResult
    private func put(
        _ raster: Raster, _ row: SearchRow, _ contents: ThumbnailLedger.Contents, isGiven: Bool = false,
        isMade: Bool = false
    ) -> Bool {
        guard let cache, let uri = uri(row.inode), !switches.isMasked, state.withLock({ $0.isOn }) else { return false }
        do {
            let bytes = try cache.install(raster, of: uri, modified: row.modified.seconds)
            note(row, uri, contents, bytes) { $0.isMade = isMade }
        } catch {
            mount.logger.info("a thumbnail cannot be put into the cache", metadata: ["error": "\(error)"])
            return false
        }
        // A picture that a program gave meanwhile goes before this one.
        if !isGiven, let (_, item) = try? volume.inspect(row.inode), let item, pictures.given(item) != nil {
            forget(row.inode)
        }
        return true
    }

    private func note(
        _ row: SearchRow, _ uri: String, _ contents: ThumbnailLedger.Contents, _ bytes: Int64,
        _ more: (inout ThumbnailLedger.Entry) -> Void = { _ in }
    ) {
        var entry = ThumbnailLedger.Entry(
            inode: row.inode.rawValue, uri: uri, modified: row.modified.seconds,
            nanoseconds: row.modified.nanoseconds, size: row.size, contents: contents, bytes: bytes)
        more(&entry)
        order.withLock { _ in
            for gone in ledger.put(entry) { cache?.remove(gone.uri) }
        }
        // The document may have been renamed or changed meanwhile.
        check(entry)
    }

    /// Records a picture that the user's program (`hydrant thumbnail`) has put into this cache.
    ///
    /// - Parameter modified: the modification date of the pictured version, in seconds since 1970.
    func note(_ inode: InodeID, uri: String, modified: Int64, bytes: Int64, in folder: String) {
        guard let cache, cache.folder == folder, let row = row(inode), let contents = contents(inode),
            row.modified.seconds == modified, self.uri(inode) == uri
        else { return }
        if let entry = ledger[inode], entry.uri == uri, isCurrent(entry, row), !entry.hasFailed { return }
        note(row, uri, contents, bytes)
    }

    /// A program has given the document a picture: remove all others from the cache, whoever made them.
    func forget(_ inode: InodeID) {
        guard let cache, let uri = uri(inode) else { return }
        let isShown = order.withLock { _ in
            let entry = ledger[inode]
            if let entry {
                cache.remove(entry.uri)
                ledger.remove(entry)
            }
            guard state.withLock({ $0.isOn }) else { return false }
            let isThere = access(cache.path(of: uri, .normal), F_OK) == 0
            cache.remove(uri, anybodys: true)
            return entry != nil || isThere
        }
        let folder = row(inode)?.folder
        let wasVisited = state.withLock { state in
            state.silent[inode] = nil
            return folder.map { state.recent[$0] != nil } ?? false
        }
        if isShown || wasVisited { want(inode) }
    }

    /// Returns the cached picture of the document's current contents in this size, and whether a thumbnailer of this
    /// machine made the picture; nil: there is none.
    func cached(_ record: InodeRecord, _ item: ItemRecord?, size: Int) -> (picture: Data, isMade: Bool)? {
        guard let cache, let entry = ledger[record.id], !entry.hasFailed,
            entry.nanoseconds == record.modified.nanoseconds, entry.size == record.size,
            entry.contents?.are(ThumbnailLedger.Contents(record, item)) ?? false
        else { return nil }
        let best = ThumbnailCache.Size.allCases.first { $0.pixels >= size } ?? .xxLarge
        guard let found = cache.picture(of: entry.uri, modified: entry.modified, best) else { return nil }
        let picture =
            max(found.width, found.height) <= size
            ? found.data(with: []) : Raster(found.data(with: []))?.fitting(size)?.png
        return picture.map { ($0, entry.isMade ?? false) }
    }

    // MARK: Changes

    private func takeChanges() {
        let (rows, recent) = state.withLock { state in
            defer { state.changed = ChangedRows() }
            return (state.changed, state.recent)
        }
        if rows.isEmpty { return }
        if !ledger.isEmpty { checkChanged(rows) }
        let folders = Set(recent.keys)
        let seen = try? mount.catalog.readAside { try $0.changed(rows, in: folders, limit: Self.mostWanted) }
        for inode in seen ?? [] { want(inode) }
    }

    private func checkChanged(_ rows: ChangedRows) {
        let named = (try? mount.catalog.readAside { try $0.named(by: rows) }) ?? []
        // (The documents in a moved folder have other paths now.)
        if rows.isTooMany || named.contains(where: { $0.kind == .folder }) { return checkAll() }
        for inode in rows.inodes.union(named.map(\.inode)) {
            if let entry = ledger[inode] { check(entry) }
        }
    }

    private func checkAll() {
        for entry in ledger.all {
            if Task.isCancelled { return }
            check(entry)
        }
    }

    /// Removes the cached pictures if the document is gone or has other contents; moves them if it was renamed.
    private func check(_ entry: ThumbnailLedger.Entry) {
        order.withLock { _ in follow(entry, displaces: true) }
    }

    /// - Parameter displaces: whether to check first the entry of another document at the new path.
    private func follow(_ entry: ThumbnailLedger.Entry, displaces: Bool) {
        let inode = InodeID(rawValue: entry.inode)
        guard let cache, ledger[inode] == entry else { return }
        func drop() {
            cache.remove(entry.uri)
            ledger.remove(entry)
        }
        guard let row = row(inode), let uri = uri(inode), isCurrent(entry, row) else { return drop() }
        guard uri != entry.uri else { return }
        if entry.hasFailed { return drop() }
        if displaces, let other = ledger.entry(at: uri) { follow(other, displaces: false) }
        // (Two documents have swapped names: one of the pictures is made again.)
        guard ledger.entry(at: uri) == nil, cache.move(entry.uri, to: uri, modified: entry.modified) else {
            drop()
            return want(inode)
        }
        var moved = entry
        moved.uri = uri
        for gone in ledger.put(moved) where gone.inode != entry.inode { cache.remove(gone.uri) }
    }

    private func contents(_ inode: InodeID) -> ThumbnailLedger.Contents? {
        (try? volume.inspect(inode)).map { ThumbnailLedger.Contents($0.0, $0.1) }
    }

    /// Whether the cached picture shows the document's current contents; ignores the name.
    private func isCurrent(_ entry: ThumbnailLedger.Entry, _ row: SearchRow) -> Bool {
        guard entry.nanoseconds == row.modified.nanoseconds, entry.size == row.size, let now = contents(row.inode)
        else { return false }
        return entry.contents?.are(now) ?? false
    }
}

extension ThumbnailService.Stamp {
    fileprivate init(_ row: SearchRow) { self.init(modified: row.modified, size: row.size, isWhole: row.isWhole) }
}
