package import FileProvider
import Foundation

/// One kind of store, as the daemon needs to know it: its scheme, how what stands behind the scheme is read, and how its provider is
/// made. The daemon knows no provider but by these; `hydrant` hands it its own (target `Stores`), a program of somebody's own hands
/// it one (``ProviderMain``).
package struct ProviderRegistration: Sendable {
    package let scheme: String
    /// How a location is read.
    package let kind: StoreLocation.Kind
    /// Users sign in: a location goes with a ``DaemonAccount``.
    package let hasAccounts: Bool
    private let make: @Sendable (StoreLocation, DaemonAccount?) async throws -> any FileProviderExtension
    private let danger: @Sendable (String) -> DoctorProblem?

    /// - Parameters:
    ///   - danger: what a user risks at a location, as the catalog knows it; nil: nothing.
    ///   - make: makes the provider of a location. What it throws is told to people, on one line.
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

    /// The same, which says when it has made a provider.
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

    /// For people.
    package var schemes: String { registrations.map { "\($0.scheme):" }.joined(separator: ", ") }
}

extension DaemonError {
    /// What an error says to people, on one line.
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
