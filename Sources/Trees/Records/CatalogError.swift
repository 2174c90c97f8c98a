/// An error of a look-up or a change in the catalog.
package struct CatalogError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        case notFound, exists, notFolder, isFolder, notEmpty, intoItself, crossType, unsupported
        case notPermitted, noAttribute
        /// The store does not allow the change (``ItemCapabilities``).
        case notAllowed
        /// The destination is on another volume of the store (``Item/isVolume``).
        case otherVolume
        /// A program is writing the document.
        case beingWritten
        /// The answer needs the folder's listing, which has not been fetched.
        case notEnumerated(InodeID)
        /// The inode is to be separated from its document, and some of its bytes are missing.
        case incomplete(InodeID)
        /// The caller has another generation of the inode.
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
