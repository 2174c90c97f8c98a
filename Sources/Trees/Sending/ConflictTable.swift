package import FileProvider

/// What becomes of a step that the provider refused because it has something else than the step was made for: every
/// conflict is a row here. In all of them both contents survive.
package enum ConflictTable {
    package enum Kind: CaseIterable, Sendable { case create, uploadContents, move, updateMetadata, delete }

    package enum Resolution: Equatable, Sendable {
        /// It is what we wanted there, by an earlier attempt whose reply was lost, or by chance: confirmed.
        case confirm
        /// The provider's stays under its name, ours becomes a conflicted copy beside it.
        case keepBoth
        /// What has the name keeps it, the moved item gets a name for conflicted copies.
        case giveWay
        /// Gone there, changed here: the change goes there as something new.
        case makeAnew
        /// Something newer is there: it is shown again.
        case takeBackDeletion
        /// The provider's stand is taken into the trees first; then it is planned anew.
        case refreshFirst
        /// The folder that it is to be in is gone there: that is found out, and made anew, first.
        case refreshFolder
        /// The provider did not say what has the name: the folder is listed, and the step is tried again.
        case listFolder
        /// The provider keeps no such thing: it stays here.
        case keepLocal
    }

    /// What is known of the thing that the provider has instead.
    package enum Found: CaseIterable, Sendable {
        /// The same contents, target or (folders) nature as ours.
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
        case (.uploadContents, .noSuchItem, _): .makeAnew

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
