public import Foundation

/// Shows an item: the presenter is asked before others use the item in a coordinated way, and told what happened to it,
/// whoever did it.
///
/// Methods are called one after another, on no particular thread. Others wait at most 5 seconds for a method to return.
///
/// Source: Apple, `NSFilePresenter`.
public protocol FilePresenter: AnyObject, Sendable {
    /// The item when the presenter is added, which is followed from then on.
    var presentedItemURL: URL { get }
    /// Coordinators of this purpose do not ask the presenter; nil: a unique purpose.
    var purposeIdentifier: String? { get }

    /// Relinquishes the item to a reader; ``reacquirePresentedItem()`` is called when the reader is done.
    func relinquishPresentedItemToReader() async
    /// Relinquishes the item to a writer.
    func relinquishPresentedItemToWriter() async
    /// The reader or writer is done; or the daemon has ended, and with it all claims in its domain.
    func reacquirePresentedItem() async
    /// Saves unsaved changes, through a coordinator made with `FileCoordinator(filePresenter:)`.
    func savePresentedItemChanges() async
    /// Another program is about to delete the item, or to replace it.
    func accommodatePresentedItemDeletion() async

    /// The item's contents or attributes have changed.
    func presentedItemDidChange() async
    /// The item was renamed or moved.
    func presentedItemDidMove(to newURL: URL) async
    /// The item is gone, here or in the store.
    func presentedItemWasDeleted() async
    /// The item was changed here and elsewhere, and both versions were kept.
    ///
    /// - Parameter url: the other version.
    func presentedItemDidGainConflict(at url: URL) async
    /// The conflict was resolved.
    func presentedItemConflictWasResolved() async
    /// For a folder: a coordinated access to an item somewhere in it has ended, and the item is new or has changed.
    /// Uncoordinated changes are not reported.
    func presentedSubitemDidChange(at url: URL) async
    /// For a folder: an item somewhere in it is gone after a coordinated access.
    func presentedSubitemWasDeleted(at url: URL) async
}

extension FilePresenter {
    /// A unique purpose.
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
    /// Adds a presenter, and keeps it alive until it is removed. From this call's return on the presenter misses
    /// nothing.
    ///
    /// - Throws: ``CoordinationError``.
    public static func addFilePresenter(_ presenter: any FilePresenter) async throws {
        try await PresenterTable.shared.add(presenter)
    }

    /// Removes a presenter, which is neither asked nor told from now on.
    public static func removeFilePresenter(_ presenter: any FilePresenter) { PresenterTable.shared.remove(presenter) }
}
