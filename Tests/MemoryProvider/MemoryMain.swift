import Daemon
import FileProvider
import FileProviderTesting
import Foundation
import Logging

/// `hydrant-provider-memory`, for tests: a store in memory behind an address. What its path says happens:
/// `memory://user:password@host/crash` and so on.
@main struct MemoryMain {
    static func main() async {
        await ProviderMain.run(scheme: "memory", locations: .url, version: "1.5") { location in
            switch location.path.split(separator: "/").last {
            case "crash": abort()
            case "hang": try await Task.sleep(for: .seconds(600))
            case "refuse": throw FileProviderError(.notAuthenticated, "\(location.rest):\nsign in first")
            case "foreign": throw ForeignError()
            case "account": return try AccountProvider()
            case "unwilling": return UnwillingProvider(address: location.rest)
            default: break
            }
            // As careless as a provider can be.
            Logger(label: "memory").notice("opened \(location.rest)", metadata: ["address": "memory:\(location.rest)"])
            let makesPictures = location.path.hasSuffix("/pictures")
            let provider = InMemoryProvider(features: makesPictures ? .thumbnails : [])
            _ = try provider.put("hello.txt", "hello\n")
            return provider
        }
    }
}

/// Can be made, but not served.
struct UnwillingProvider: ReadOnlyFileProvider {
    let address: String

    func beginServing(_ domain: any FileProviderDomain) async throws(FileProviderError) {
        throw FileProviderError(.notAuthenticated, "\(address) at \(domain.documentStorageURL.path): not today")
    }

    func providePlaceholder(for identifier: ItemIdentifier) async throws(FileProviderError) -> Item { throw never }

    func enumerateItems(
        in folder: ItemIdentifier, startingAt page: Page?
    ) async throws(FileProviderError) -> ItemPage { throw never }

    func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(FileProviderError) { throw never }

    private var never: FileProviderError { FileProviderError(.cannotSynchronize, "nobody should have asked") }
}

struct ForeignError: LocalizedError {
    var errorDescription: String? { "no such album" }
}

/// Has an account, and keeps a token of its own for it.
struct AccountProvider: ReadOnlyFileProvider, SigningIn {
    private let base = InMemoryProvider()
    private let token = (ProcessInfo.processInfo.environment["XDG_DATA_HOME"] ?? "/nonexistent") + "/memory-token"

    init() throws {
        _ = try base.put("hello.txt", "hello\n")
        try Data("secret".utf8).write(to: URL(filePath: token, directoryHint: .notDirectory))
    }

    func credentialMayHaveChanged() {}
    func signOut() async { unlink(token) }

    func providePlaceholder(for identifier: ItemIdentifier) async throws(FileProviderError) -> Item {
        try await base.providePlaceholder(for: identifier)
    }

    func enumerateItems(
        in folder: ItemIdentifier, startingAt page: Page?
    ) async throws(FileProviderError) -> ItemPage { try await base.enumerateItems(in: folder, startingAt: page) }

    func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(FileProviderError) {
        try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
    }
}
