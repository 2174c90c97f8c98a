/// What a look-up or a change in the catalog can fail with.
package struct CatalogError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        case notFound, exists, notFolder, isFolder, notEmpty, intoItself, crossType, unsupported
        case notPermitted, noAttribute
        /// The store does not let it be done (``ItemCapabilities``).
        case notAllowed
        /// It cannot be moved there: another volume of the store (``Item/isVolume``).
        case otherVolume
        /// A program is writing it.
        case beingWritten
        /// The folder's listing has not been fetched, and is needed to answer.
        case notEnumerated(InodeID)
        /// The inode is to go its own way, and not all of its bytes are here.
        case incomplete(InodeID)
        /// The bytes of an inode are another generation than the caller has.
        case replaced
        case diskFull
        case damaged
        case newerVersion
        case wrongDomain
        case system
    }
    package var code: Code
    package var message: String
    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
    package var description: String { message }
}
