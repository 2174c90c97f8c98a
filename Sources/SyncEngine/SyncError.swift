package import ContentStore
package import FileProvider
import ItemCatalog
package import Trees

/// Why an operation that needed the provider, or the local disk on its behalf, failed.
package enum SyncError: Error, Sendable, CustomStringConvertible {
    case provider(FileProviderError)
    case content(ContentError)
    case catalog(CatalogError)
    /// The provider sent nothing for longer than the read time-out.
    case timedOut(String)
    /// The provider's answer cannot be right (too few bytes, for example).
    case untrusted(String)
    /// The requested bytes belong to a version that the provider no longer has.
    case superseded
    case cancelled

    package var description: String {
        switch self {
        case .provider(let error): error.message
        case .content(let error): error.message
        case .catalog(let error): error.message
        case .timedOut(let what): "\(what): the provider sent nothing in time; try again"
        case .untrusted(let what): what
        case .superseded: "the document was replaced or deleted in the store; open it again"
        case .cancelled: "cancelled"
        }
    }

    /// Wraps an error of a lower layer.
    init(_ error: any Error) {
        switch error {
        case let error as SyncError: self = error
        case let error as FileProviderError: self = error.code == .cancelled ? .cancelled : .provider(error)
        case let error as ContentError: self = .content(error)
        case let error as CatalogError: self = .catalog(error)
        case is CancellationError: self = .cancelled
        default: self = .provider(FileProviderError(.cannotSynchronize, "\(error)", cause: error))
        }
    }
}
