import FileCoordination
import Foundation
import Synchronization

/// Receives a document's messages about its file.
final class DocumentPresenter: FilePresenter {
    enum Message: Sendable {
        case relinquishToReader, relinquishToWriter, reacquire, saveChanges, accommodateDeletion, changed, deleted,
            conflicts
        case moved(URL)
    }
    private let url: Mutex<URL>
    private let hear: @Sendable (Message) async -> Void

    init(_ url: URL, hear: @escaping @Sendable (Message) async -> Void) {
        self.url = Mutex(url)
        self.hear = hear
    }

    var presentedItemURL: URL { url.withLock { $0 } }

    func relinquishPresentedItemToReader() async { await hear(.relinquishToReader) }
    func relinquishPresentedItemToWriter() async { await hear(.relinquishToWriter) }
    func reacquirePresentedItem() async { await hear(.reacquire) }
    func savePresentedItemChanges() async { await hear(.saveChanges) }
    func accommodatePresentedItemDeletion() async { await hear(.accommodateDeletion) }
    func presentedItemDidChange() async { await hear(.changed) }
    func presentedItemDidMove(to newURL: URL) async {
        url.withLock { $0 = newURL }
        await hear(.moved(newURL))
    }
    func presentedItemWasDeleted() async { await hear(.deleted) }
    func presentedItemDidGainConflict(at url: URL) async { await hear(.conflicts) }
    func presentedItemConflictWasResolved() async { await hear(.conflicts) }
    func presentedSubitemDidChange(at url: URL) async { await hear(.changed) }
    func presentedSubitemWasDeleted(at url: URL) async { await hear(.changed) }
}
