import DirectoryProvider
import FileProvider
import Foundation
import Logging

/// How a provider of one scheme is made.
package struct ProviderMaker: Sendable {
    package let scheme: String
    let kind: StoreLocation.Kind
    /// What the user has said besides the location.
    struct Wishes: Sendable {
        var account: DaemonAccount?
    }
    private let make: @Sendable (StoreLocation, Wishes) async throws -> any FileProviderExtension

    init(
        scheme: String, kind: StoreLocation.Kind,
        make: @escaping @Sendable (StoreLocation, Wishes) async throws -> any FileProviderExtension
    ) {
        self.scheme = scheme
        self.kind = kind
        self.make = make
    }

    /// Whatever goes wrong is told in the provider's words, on one line.
    func provider(
        for location: StoreLocation, _ wishes: Wishes
    ) async throws(DaemonError) -> any FileProviderExtension {
        do { return try await make(location, wishes) } catch {
            throw DaemonError(location.secrets.scrubbed(DaemonError.line(for: error)))
        }
    }

    /// One that says when it has made a provider.
    func followed(by body: @escaping @Sendable () -> Void) -> ProviderMaker {
        ProviderMaker(scheme: scheme, kind: kind) { [make] location, wishes in
            let provider = try await make(location, wishes)
            body()
            return provider
        }
    }

    // MARK: Built in

    /// Those that `hydrant` serves by itself.
    package static let builtIn = [directory, webDAV(scheme: "webdavs"), webDAV(scheme: "webdav")]

    package static func builtIn(_ scheme: String) -> ProviderMaker? { builtIn.first { $0.scheme == scheme } }

    private static let directory = ProviderMaker(scheme: "dir", kind: .path) { location, _ in
        try checkIsDirectory(location)
        return try DirectoryProvider(root: location.path, logger: Logger(label: "hydrant"))
    }

    private static func checkIsDirectory(_ location: StoreLocation) throws(DaemonError) {
        var status = stat()
        guard stat(location.path, &status) == 0 else {
            throw DaemonError(
                "\(location.rest): \(String(cString: strerror(errno))); the store must be there before it is mounted")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw DaemonError("\(location.rest): is not a directory") }
    }
}

extension DaemonError {
    /// What an error says to people.
    static func line(for error: any Error) -> String {
        let text =
            switch error {
            case let error as FileProviderError: error.message
            case let error as DaemonError: error.message
            case let error as any LocalizedError: error.errorDescription ?? "\(error)"
            case let error as CocoaError: described(error)
            default: type(of: error) is NSError.Type ? (error as NSError).localizedDescription : "\(error)"
            }
        return text.split(whereSeparator: \.isNewline).joined(separator: "; ")
    }

    /// Foundation's say what, but not to which file.
    private static func described(_ error: CocoaError) -> String {
        let why = (error.underlying as? POSIXError).map { String(cString: strerror($0.code.rawValue)) }
        let text = why ?? (error as NSError).localizedDescription
        return error.filePath.map { "\($0): \(text)" } ?? text
    }
}
