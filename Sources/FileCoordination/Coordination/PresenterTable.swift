import ControlAPI
import Foundation
import Synchronization

struct PresenterHandle: Sendable {
    let id: String
    let purpose: String
}

/// The presenters of this process, each with a connection to its daemon.
final class PresenterTable: Sendable {
    static let shared = PresenterTable()
    private struct Entry {
        var handle: PresenterHandle
        var task: Task<Void, Never>
    }
    /// The pause between attempts to reach a daemon that has ended.
    private static let pause = Duration.seconds(1)
    private let entries = Mutex<[ObjectIdentifier: Entry]>([:])

    func handle(of presenter: any FilePresenter) -> PresenterHandle? {
        entries.withLock { $0[ObjectIdentifier(presenter)]?.handle }
    }

    func add(_ presenter: any FilePresenter) async throws {
        let place = try await ItemPlace.find(presenter.presentedItemURL)
        guard let client = FileCoordinator.client(of: place.mountPoint) else {
            throw CoordinationError(.notRunning, "\(place.mountPoint): its daemon cannot be reached")
        }
        let handle = PresenterHandle(
            id: UUID().uuidString, purpose: presenter.purposeIdentifier ?? UUID().uuidString)
        let (ready, isReady) = AsyncThrowingStream<Void, any Error>.makeStream()
        let task = Task {
            var (path, isKnown, relinquished) = (place.path, false, 0)
            while true {
                do {
                    let request = PresenterRequest(id: handle.id, purpose: handle.purpose, path: path)
                    let answer = try await client.follow(.present(request)) { news in
                        guard case .presenter(let message) = news else { return }
                        if message.kind == .registered {
                            isReady.finish()
                            // The daemon was away, so the item may have changed.
                            if isKnown { await presenter.presentedItemDidChange() }
                            isKnown = true
                            return
                        }
                        switch message.kind {
                        case .moved: path = message.place ?? path
                        case .relinquishToReader, .relinquishToWriter: relinquished += 1
                        case .reacquire: relinquished = max(0, relinquished - 1)
                        default: break
                        }
                        await Self.notify(presenter, message, place.mountPoint)
                        if let question = message.question {
                            // If the answer is lost, the daemon waits for it only briefly.
                            _ = try? await client.send(.answer(presenter: handle.id, question: question), timeout: 30)
                        }
                    }
                    await Self.reacquire(presenter, &relinquished)
                    if case .failure(let failure) = answer {
                        isReady.finish(throwing: CoordinationError(.init(answer: failure.code), failure.message))
                        if isKnown { await presenter.presentedItemWasDeleted() }
                        return
                    }
                } catch {
                    await Self.reacquire(presenter, &relinquished)
                    isReady.finish(throwing: HeldClaim.error(error, place.mountPoint))
                }
                // The daemon has ended; it may come back.
                guard isKnown, (try? await Task.sleep(for: Self.pause)) != nil else { return }
            }
        }
        let entry = Entry(handle: handle, task: task)
        entries.withLock { $0.updateValue(entry, forKey: ObjectIdentifier(presenter)) }?.task.cancel()
        do { for try await _ in ready {} } catch {
            remove(presenter)
            throw error
        }
    }

    func remove(_ presenter: any FilePresenter) {
        entries.withLock { $0.removeValue(forKey: ObjectIdentifier(presenter)) }?.task.cancel()
    }

    /// Tells the presenter that all claims have ended, because their daemon has, and cannot say so.
    private static func reacquire(_ presenter: any FilePresenter, _ count: inout Int) async {
        for _ in 0..<count { await presenter.reacquirePresentedItem() }
        count = 0
    }

    private static func notify(
        _ presenter: any FilePresenter, _ message: PresenterMessage, _ mountPoint: String
    ) async {
        let url = message.place.map { ItemPlace.url($0, in: mountPoint) }
        switch message.kind {
        case .registered: break
        case .relinquishToReader: await presenter.relinquishPresentedItemToReader()
        case .relinquishToWriter: await presenter.relinquishPresentedItemToWriter()
        case .reacquire: await presenter.reacquirePresentedItem()
        case .saveChanges: await presenter.savePresentedItemChanges()
        case .accommodateDeletion: await presenter.accommodatePresentedItemDeletion()
        case .changed: await presenter.presentedItemDidChange()
        case .moved: if let url { await presenter.presentedItemDidMove(to: url) }
        case .deleted: await presenter.presentedItemWasDeleted()
        case .conflict: if let url { await presenter.presentedItemDidGainConflict(at: url) }
        case .subitemChanged: if let url { await presenter.presentedSubitemDidChange(at: url) }
        case .subitemDeleted: if let url { await presenter.presentedSubitemWasDeleted(at: url) }
        case .resolved: await presenter.presentedItemConflictWasResolved()
        }
    }
}
