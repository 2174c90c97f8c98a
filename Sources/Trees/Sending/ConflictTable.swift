package import FileProvider

/// The resolution of a step that the provider refused because its state differs from the step's assumption: every
/// conflict is a row here. In all of them both contents survive.
package enum ConflictTable {
    package enum Kind: CaseIterable, Sendable { case create, uploadContents, move, updateMetadata, delete }

    package enum Resolution: Equatable, Sendable {
        /// The provider has the wanted state, from an earlier attempt whose reply was lost, or by chance: confirm it.
        case confirm
        /// The provider's version keeps the name, ours becomes a conflicted copy beside it.
        case keepBoth
        /// The item with the name keeps it; the moved item gets a name for conflicted copies.
        case giveWay
        /// Deleted there, changed here: the item is created again there.
        case recreate
        /// The provider has a newer version, which is shown again.
        case takeBackDeletion
        /// Merge the provider's state into the trees, then plan again.
        case refreshFirst
        /// The destination folder is deleted there: verify this and create the folder again first.
        case refreshFolder
        /// The provider did not say which item has the name: list the folder, then try the step again.
        case listFolder
        /// The provider cannot store the item: it stays on this machine.
        case keepLocal
    }

    /// What is known of the provider's item.
    package enum Found: CaseIterable, Sendable {
        /// The same contents or target as ours, or both are folders.
        case same
        case different
        case unknown
    }

    /// Nil: no conflict but a failure, to be tried again.
    package static func resolution(of step: Kind, _ answer: FileProviderError.Code, _ found: Found) -> Resolution? {
        switch (step, answer, found) {
        case (.create, .filenameCollision, .same): .confirm
        case (.create, .filenameCollision, .different): .keepBoth
        case (.create, .filenameCollision, .unknown): .listFolder
        case (.create, .noSuchItem, _): .refreshFolder

        case (.uploadContents, .versionMismatch, .same): .confirm
        case (.uploadContents, .versionMismatch, _): .keepBoth
        case (.uploadContents, .noSuchItem, _): .recreate

        case (.move, .filenameCollision, _): .giveWay
        case (.move, .versionMismatch, _), (.move, .noSuchItem, _): .refreshFirst

        // Dates and modes are never worth a copy.
        case (.updateMetadata, .versionMismatch, _), (.updateMetadata, .noSuchItem, _): .refreshFirst
        case (.updateMetadata, .unsupported, _): .keepLocal

        case (.delete, .noSuchItem, _): .confirm
        case (.delete, .versionMismatch, _), (.delete, .directoryNotEmpty, _): .takeBackDeletion
        default: nil
        }
    }
}
