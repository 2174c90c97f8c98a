import FileProvider
import Synchronization

/// A listing on its way from the server, in parts: while one part waits to be taken, and the next one is complete, the
/// server's answer is read no further.
final class ListingStream: Sendable {
    struct Part: Sendable {
        var listing = Listing()
        var isLast = false
        /// Entries; a piece of the answer may add some more.
        static let size = 2_000
    }
    private typealias Waiter = CheckedContinuation<Void, Never>
    private struct State {
        var part: Part?
        var taker: Waiter?
        var sender: Waiter?
        /// `success(nil)`: there is no folder.
        var end: Result<Part?, FileProviderError>?
        var task: Task<Void, Never>?
    }
    private let state = Mutex(State())
    /// If nobody takes a part for so long, the listing ends: the caller has gone, and the listing holds a connection.
    private let patience: Duration

    init(patience: Duration) { self.patience = patience }

    /// - Parameter body: sends parts, and returns the last one; nil: there is no folder.
    func begin(_ body: @escaping @Sendable () async throws(FileProviderError) -> Part?) {
        let task = Task {
            do throws(FileProviderError) { end(.success(try await body())) } catch { end(.failure(error)) }
        }
        state.withLock { $0.task = task }
    }

    /// Returns when the part before has been taken.
    ///
    /// - Throws: ``FileProviderError/Code/cancelled`` when the listing was given up.
    func send(_ part: Part) async throws(FileProviderError) {
        while true {
            enum Answer { case sent(Waiter?), ended, full }
            let answer = state.withLock { state -> Answer in
                if state.end != nil { return .ended }
                guard state.part == nil else { return .full }
                state.part = part
                return .sent(state.taker.take())
            }
            switch answer {
            case .sent(let taker): return taker?.resume() ?? ()
            case .ended: throw FileProviderError(.cancelled, "the listing was given up")
            case .full: await waitForTaker()
            }
        }
    }

    private func waitForTaker() async {
        let watchdog = Task {
            try await Task.sleep(for: patience)
            giveUp(
                FileProviderError(
                    .cannotSynchronize, "a listing was given up: its next part was not read for \(patience)"))
        }
        await withCheckedContinuation { continuation in
            let isFull = state.withLock { state in
                guard state.part != nil, state.end == nil else { return false }
                state.sender = continuation
                return true
            }
            if !isFull { continuation.resume() }
        }
        watchdog.cancel()
    }

    /// The next part, when it has arrived; nil: there is no folder. One caller at a time; cancelling the task ends the
    /// listing.
    func next() async throws(FileProviderError) -> Part? {
        while true {
            let (part, sender, end) = state.withLock { state in
                (state.part.take(), state.sender.take(), state.end)
            }
            sender?.resume()
            if let part { return part }
            if let end { return try end.get() }
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let isEmpty = state.withLock { state in
                        guard state.part == nil, state.end == nil else { return false }
                        state.taker = continuation
                        return true
                    }
                    if !isEmpty { continuation.resume() }
                }
            } onCancel: {
                giveUp(FileProviderError(.cancelled, "the listing was given up"))
            }
        }
    }

    /// Ends the request, if it is still running, and drops parts that were not taken.
    func giveUp(_ error: FileProviderError) {
        end(.failure(error), isGivenUp: true)
        state.withLock { $0.task }?.cancel()
    }

    private func end(_ result: Result<Part?, FileProviderError>, isGivenUp: Bool = false) {
        let (taker, sender) = state.withLock { state in
            if state.end == nil || isGivenUp { state.end = result }
            if isGivenUp { state.part = nil }
            return (state.taker.take(), state.sender.take())
        }
        taker?.resume()
        sender?.resume()
    }

    /// A part waits to be taken, and another one behind it: reading stops.
    var isFull: Bool { state.withLock { $0.part != nil && $0.sender != nil } }
}

/// A listing whose first part has been taken.
struct OpenListing: Sendable {
    let folder: ItemIdentifier
    let stream: ListingStream
    var recognition: ListingRecognition
    var leftovers: [Listing.Entry] = []
    /// Set when all parts have arrived: the items not yet passed on. nil: more parts will come.
    var rest: ArraySlice<ListingRecognition.Identified>?
}

/// The listings that are between two pages.
final class OpenListings: Sendable {
    private struct State {
        var listings: [UInt64: OpenListing] = [:]
        /// A token of an earlier run of the program must not fit.
        var lastToken = UInt64.random(in: 0...(.max / 2))
    }
    private let state = Mutex(State())
    /// Each may hold a connection; the oldest is given up first.
    private static let most = 16

    /// - Returns: the page with which to ask for the rest.
    func keep(_ listing: OpenListing) -> Page {
        let (token, oldest) = state.withLock { state in
            state.lastToken += 1
            state.listings[state.lastToken] = listing
            guard state.listings.count > Self.most, let oldest = state.listings.keys.min() else {
                return (state.lastToken, OpenListing?.none)
            }
            return (state.lastToken, state.listings.removeValue(forKey: oldest))
        }
        if let oldest { oldest.stream.giveUp(Self.givenUp(oldest.folder)) }
        return Page(bytes: String(token).utf8)
    }

    /// - Throws: when the listing was given up. It cannot begin anew: the caller has the beginning of another listing.
    func take(_ page: Page, of folder: ItemIdentifier) throws(FileProviderError) -> OpenListing {
        let kept = UInt64(String(decoding: page.bytes, as: UTF8.self)).flatMap { token in
            state.withLock { $0.listings.removeValue(forKey: token) }
        }
        guard let kept, kept.folder == folder else { throw Self.givenUp(folder) }
        return kept
    }

    func giveUpAll() {
        for listing in state.withLock({ Array($0.listings.values) }) {
            listing.stream.giveUp(Self.givenUp(listing.folder))
        }
    }

    private static func givenUp(_ folder: ItemIdentifier) -> FileProviderError {
        FileProviderError(.cannotSynchronize, "\(folder): the listing was given up, because too many others were begun")
    }

    var all: [OpenListing] { state.withLock { Array($0.listings.values) } }
}
