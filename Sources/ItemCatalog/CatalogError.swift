/// What a look-up or a change in the catalog can fail with.
package struct CatalogError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        case notFound, exists, notFolder, isFolder, notEmpty, intoItself, crossType, unsupported
        /// The folder's listing has not been fetched, and is needed to answer.
        case notEnumerated(InodeID)
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
