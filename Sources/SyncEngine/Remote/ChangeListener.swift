import FileProvider
import ItemCatalog
import Logging

/// Follows the store's changes: the provider's signals where it has them, else a look now and then at
/// the folders that programs look at.
actor ChangeListener {
    private let context: SyncContext
    private let fetcher: FolderFetcher
    private var waiting: Set<ChangeSignal> = []
    private var isDraining = false
    private var lookedAt: [InodeID: ContinuousClock.Instant] = [:]

    init(context: SyncContext, fetcher: FolderFetcher) {
        self.context = context
        self.fetcher = fetcher
    }

    /// Runs until its task is cancelled.
    func run() async {
        // What changed while nobody was mounted.
        take(.everything)
        if let provider = context.provider as? any ChangeSignaling {
            for await signal in provider.changeSignals() { take(signal) }
        } else {
            while (try? await Task.sleep(for: .seconds(context.times.poll))) != nil {
                let recent = ContinuousClock.now - .seconds(context.times.poll * 10)
                lookedAt = lookedAt.filter { $0.value > recent }
                for folder in lookedAt.keys { try? await fetcher.fetch(folder, joining: false) }
            }
        }
    }

    /// A program looked at a folder: it is worth polling.
    func wasLookedAt(_ folder: InodeID) { lookedAt[folder] = .now }

    private func take(_ signal: ChangeSignal) {
        waiting.insert(signal)
        guard !isDraining else { return }
        isDraining = true
        Task { await drain() }
    }

    private func drain() async {
        defer { isDraining = false }
        while !waiting.isEmpty && !Task.isCancelled {
            let batch = waiting
            waiting = []
            if batch.contains(.everything) {
                await fetchEverything()
                continue
            }
            let started = ContinuousClock.now
            await withTaskGroup(of: Void.self) { group in
                for signal in batch { group.addTask { await self.handle(signal) } }
            }
            // A folder in which much happens (our own uploads, say) is not listed without a pause.
            let elapsed = started.duration(to: .now)
            try? await Task.sleep(for: min(.milliseconds(400), elapsed * 3))
        }
    }

    private nonisolated func handle(_ signal: ChangeSignal) async {
        switch signal {
        case .folder(let identifier):
            guard let item = try? context.catalog.read({ try $0.item(identifiedBy: identifier) }),
                let inode = item.inode
            else { return }
            await fetchIfKnown(inode)
        case .item(let identifier):
            let isKnown = (try? context.catalog.read { try $0.item(identifiedBy: identifier) }) ?? nil
            if isKnown != nil { await RemoteRefresh(context: context, fetcher: fetcher).refresh(identifier) }
        case .everything:
            break
        }
    }

    /// A folder that nobody has looked at is fetched when somebody does.
    private nonisolated func fetchIfKnown(_ folder: InodeID) async {
        guard let inode = try? context.catalog.read({ try $0.inodeIfPresent(folder) }), inode.isEnumerated else {
            return
        }
        do {
            try await fetcher.fetch(folder, joining: false)
        } catch {
            context.logger.debug("cannot list a folder", metadata: ["folder": "\(folder)", "error": "\(error)"])
        }
    }

    private func fetchEverything() async {
        guard let folders = try? context.catalog.read({ try $0.enumeratedFolders() }) else { return }
        await withTaskGroup(of: Void.self) { group in
            for (index, folder) in folders.enumerated() {
                if index >= 4 { await group.next() }
                group.addTask { await self.fetchIfKnown(folder) }
            }
        }
    }
}
