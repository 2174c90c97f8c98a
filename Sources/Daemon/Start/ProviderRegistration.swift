package import FileProvider
import Foundation

/// One kind of store for the daemon: its scheme, the kind of its locations, and the creation of its provider. The
/// daemon knows providers only by their registrations: `hydrant` passes its own (target `Stores`), and a third-party
/// program passes one (``ProviderMain``).
package struct ProviderRegistration: Sendable {
    package let scheme: String
    /// The kind of the scheme's locations.
    package let kind: StoreLocation.Kind
    /// Users sign in: a ``DaemonAccount`` belongs to the location.
    package let hasAccounts: Bool
    private let make: @Sendable (StoreLocation, DaemonAccount?) async throws -> any FileProviderExtension
    private let danger: @Sendable (String) -> DoctorProblem?

    /// - Parameters:
    ///   - danger: the risk for users of a location, as the catalog has it; nil: there is none.
    ///   - make: creates the provider of a location. Users see a thrown error as one line.
    package init(
        scheme: String, kind: StoreLocation.Kind, hasAccounts: Bool = false,
        danger: @escaping @Sendable (String) -> DoctorProblem? = { _ in nil },
        make: @escaping @Sendable (StoreLocation, DaemonAccount?) async throws -> any FileProviderExtension
    ) {
        self.scheme = scheme
        self.kind = kind
        self.hasAccounts = hasAccounts
        self.danger = danger
        self.make = make
    }

    func provider(
        for location: StoreLocation, _ account: DaemonAccount? = nil
    ) async throws(DaemonError) -> any FileProviderExtension {
        do { return try await make(location, account) } catch {
            throw DaemonError(location.secrets.scrubbed(DaemonError.line(for: error)))
        }
    }

    func danger(of store: String) -> DoctorProblem? { danger(store) }

    /// The same registration; calls `body` after it has created a provider.
    func followed(by body: @escaping @Sendable () -> Void) -> ProviderRegistration {
        ProviderRegistration(scheme: scheme, kind: kind, hasAccounts: hasAccounts, danger: danger) {
            [make] location, account in
            let provider = try await make(location, account)
            body()
            return provider
        }
    }
}

/// The kinds of stores that a program serves by itself.
package struct ProviderRegistry: Sendable {
    private let registrations: [ProviderRegistration]

    package init(_ registrations: [ProviderRegistration]) { self.registrations = registrations }

    package subscript(scheme: String) -> ProviderRegistration? { registrations.first { $0.scheme == scheme } }

    /// The schemes, for people.
    package var schemes: String { registrations.map { "\($0.scheme):" }.joined(separator: ", ") }
}

extension DaemonError {
    /// Describes an error for people, on one line.
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

    /// Adds the file, which Foundation's descriptions leave out.
    private static func described(_ error: CocoaError) -> String {
        let why = (error.underlying as? POSIXError).map { String(cString: strerror($0.code.rawValue)) }
        let text = why ?? (error as NSError).localizedDescription
        return error.filePath.map { "\($0): \(text)" } ?? text
    }
}
