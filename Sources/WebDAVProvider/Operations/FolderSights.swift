import FileProvider
import HTTPTransport
import Synchronization
import Waiting

/// Looks at documents that were just put into folders. A server that does not tell the version after a PUT is asked for
/// it; where several documents of one folder wait, one listing of the folder answers for all of them.
final class FolderSights: Sendable {
    private struct Folder {
        /// Callers that have no answer yet.
        var unanswered = 0
        var waiting: [Waiter] = []
        var isGathering = false
        /// The number of entries in the folder, at least, as far as it was listed here.
        var size = 0
    }
    private struct Waiter {
        var name: [UInt8]
        /// Gets nil where the listing does not answer: the caller asks for its document alone.
        let answer = FirstAnswer<DAVResource?>()
    }
    private let folders = Mutex<[HTTPLocation: Folder]>([:])
    private let shared = Atomic(false)

    /// Documents gather for one listing until none has come for the time `quiet`, or `enough` of them wait, or the first
    /// has waited for the time `longestGathering`.
    private static let (quiet, longestGathering) = (Duration.milliseconds(30), Duration.milliseconds(200))
    private static let enough = uploadsToSee * 3 / 4
    /// The uploads under way where documents share listings: the transport still limits those that transfer, and the
    /// others wait until a listing shows them.
    static let uploadsToSee = 128
    /// A listing is cheaper than single questions if the folder has at most this many entries for each document that
    /// waits (Apache on loopback: 11 µs an entry, 650 a question).
    private static let entriesForOne = 50
    /// Fewer documents than these are asked for one by one.
    private static let fewest = 4
    /// If a listing takes longer, its documents are asked for one by one.
    private static let longest = Duration.milliseconds(500)

    /// Whether documents have shared a listing: the more uploads there are at once, the more can share one.
    var haveShared: Bool { shared.load(ordering: .relaxed) }

    /// The document as the server has it at some moment after the call; nil: it is not there.
    func resource(_ place: HTTPLocation, _ client: DAVClient) async throws(FileProviderError) -> DAVResource? {
        let folder = place.folder
        let isAlone = folders.withLock { folders in
            folders[folder, default: Folder()].unanswered += 1
            return folders[folder]?.unanswered == 1
        }
        defer {
            folders.withLock { folders in
                folders[folder]?.unanswered -= 1
                if folders[folder]?.unanswered == 0 { folders[folder] = nil }
            }
        }
        if !isAlone, let name = place.components.last, let shown = await gathered(name, folder, client) {
            return shown
        }
        return try await client.resource(place)
    }

    private func gathered(_ name: [UInt8], _ folder: HTTPLocation, _ client: DAVClient) async -> DAVResource? {
        let waiter = Waiter(name: name)
        let isFirst = folders.withLock { folders in
            folders[folder]?.waiting.append(waiter)
            defer { folders[folder]?.isGathering = true }
            return folders[folder]?.isGathering == false
        }
        // (Not the caller's task, whose cancellation would end the wait of all.)
        if isFirst { Task { await gather(folder, client) } }
        return await waiter.answer.wait(otherwise: nil)
    }

    private func gather(_ folder: HTTPLocation, _ client: DAVClient) async {
        while true {
            await gathering(folder)
            let (waiting, size) = folders.withLock { folders in
                let found = folders[folder]
                folders[folder]?.waiting = []
                if found?.waiting.isEmpty != false { folders[folder]?.isGathering = false }
                return (found?.waiting ?? [], found?.size ?? 0)
            }
            if waiting.isEmpty { return }
            var shown: [[UInt8]: DAVResource] = [:]
            let most = waiting.count * Self.entriesForOne
            if waiting.count >= Self.fewest, size <= most {
                let names = Set(waiting.map(\.name))
                let answer = await FirstAnswer.of(within: Self.longest) { [self] in
                    await list(folder, names, most, client)
                }
                shown = answer?.found ?? [:]
                folders.withLock { $0[folder]?.size = answer?.count ?? .max }
                if !shown.isEmpty { shared.store(true, ordering: .relaxed) }
            }
            for waiter in waiting { waiter.answer.resume(shown[waiter.name]) }
        }
    }

    private func gathering(_ folder: HTTPLocation) async {
        let start = ContinuousClock.now
        var (count, last) = (0, start)
        while count < Self.enough, start.duration(to: .now) < Self.longestGathering {
            try? await Task.sleep(for: Self.quiet / 3)
            let now = folders.withLock { $0[folder]?.waiting.count ?? 0 }
            if now > count { (count, last) = (now, .now) }
            if last.duration(to: .now) >= Self.quiet { return }
        }
    }

    private struct TooLong: Error {}

    /// - Returns: what it found, and how many entries it read: a longer folder is not read to its end.
    private func list(
        _ folder: HTTPLocation, _ names: Set<[UInt8]>, _ most: Int, _ client: DAVClient
    ) async -> (found: [[UInt8]: DAVResource], count: Int) {
        var found: [[UInt8]: DAVResource] = [:]
        var count = 0
        // Whatever fails here, each caller asks alone, and gets the error.
        _ = try? await client.list(folder, .children) { responses in
            count += responses.count
            if count > most { throw TooLong() }
            for response in responses where !response.isFolder && !response.isNothing {
                guard let place = folder.resolve(response.href), let name = place.components.last,
                    names.contains(name), place.folder.components == folder.components,
                    let resource = try? DAVResource(response, on: folder, named: place.origin.host)
                else { continue }
                found[name] = resource
            }
        }
        return count > most ? ([:], count) : (found, count)
    }
}
