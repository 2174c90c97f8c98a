public import Foundation

/// A program that shows an item: it is asked before others use the item in a coordinated way, and told after something
/// happened to it, whoever did it.
///
/// Everything is called one after another, on no particular thread. What does not return within 5 seconds is not waited
/// for any longer: others go on then.
///
/// Source: Apple, `NSFilePresenter`.
public protocol FilePresenter: AnyObject, Sendable {
    /// When it is added; it is followed from then on wherever the item goes.
    var presentedItemURL: URL { get }
    /// Coordinators of this purpose do not ask it; nil: one of its own.
    var purposeIdentifier: String? { get }

    /// Lets go of the item, so that somebody can read it; ``reacquirePresentedItem()`` is called when he is done.
    func relinquishPresentedItemToReader() async
    /// The same for somebody who writes.
    func relinquishPresentedItemToWriter() async
    /// The reader, or writer, is done; or the daemon has ended, and with it all that others have of its domain.
    func reacquirePresentedItem() async
    /// Writes what is not saved yet, through a coordinator made with `FileCoordinator(filePresenter:)`.
    func savePresentedItemChanges() async
    /// Somebody is about to delete the item, or to put another one in its place.
    func accommodatePresentedItemDeletion() async

    /// It has other contents or attributes.
    func presentedItemDidChange() async
    /// It has another name, or is in another folder.
    func presentedItemDidMove(to newURL: URL) async
    /// It is gone, here or in the store.
    func presentedItemWasDeleted() async
    /// It was changed here and elsewhere: both versions were kept.
    ///
    /// - Parameter url: where the other one is.
    func presentedItemDidGainConflict(at url: URL) async
    /// Somebody has chosen, or wants both.
    func presentedItemConflictWasResolved() async
    /// Of a folder: somebody's coordinated access to an item somewhere in it has ended, and the item is new, or is another one
    /// than before. What is not coordinated is not told.
    func presentedSubitemDidChange(at url: URL) async
    /// The same, of an item that is gone.
    func presentedSubitemWasDeleted(at url: URL) async
}

extension FilePresenter {
    /// One of its own.
    public var purposeIdentifier: String? { nil }
    /// Does nothing.
    public func relinquishPresentedItemToReader() async {}
    /// Does nothing.
    public func relinquishPresentedItemToWriter() async {}
    /// Does nothing.
    public func reacquirePresentedItem() async {}
    /// Does nothing.
    public func savePresentedItemChanges() async {}
    /// Does nothing.
    public func accommodatePresentedItemDeletion() async {}
    /// Does nothing.
    public func presentedItemDidChange() async {}
    /// Does nothing.
    public func presentedItemDidMove(to newURL: URL) async {}
    /// Does nothing.
    public func presentedItemWasDeleted() async {}
    /// Does nothing.
    public func presentedItemDidGainConflict(at url: URL) async {}
    /// Does nothing.
    public func presentedItemConflictWasResolved() async {}
    /// Does nothing.
    public func presentedSubitemDidChange(at url: URL) async {}
    /// Does nothing.
    public func presentedSubitemWasDeleted(at url: URL) async {}
}

extension FileCoordinator {
    /// Returns when nothing is missed any more that happens to the presenter's item. It is kept alive until it is removed.
    ///
    /// - Throws: ``CoordinationError``.
    public static func addFilePresenter(_ presenter: any FilePresenter) async throws {
        try await PresenterTable.shared.add(presenter)
    }

    /// It is neither asked nor told from now on.
    public static func removeFilePresenter(_ presenter: any FilePresenter) { PresenterTable.shared.remove(presenter) }
}
