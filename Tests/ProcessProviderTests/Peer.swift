import FileProvider
import Foundation
import Logging
import MountHarness
import ProcessProvider

/// `hydrant-protocol-peer`, as a provider.
enum Peer {
    static let program = "\(Sandbox.executable.dropLast("hydrant".count))hydrant-protocol-peer"

    static func command(_ words: [String], store: String = "peer:some/where") -> ProgramCommand {
        ProgramCommand(
            words: words, store: store, path: "/some/where", workingDirectory: "/", release: "test")
    }

    /// Ends the program at the end of `body`, whatever happens.
    static func with<Result>(
        _ words: [String], patience: Patience = Patience(), pauses: ProgramPauses = ProgramPauses(),
        logger: Logger? = nil, _ body: (ProcessProvider) async throws -> Result
    ) async throws -> Result {
        let provider = try await ProcessProvider.start(
            command([program] + words), patience: patience, pauses: pauses, logger: logger)
        do {
            let result = try await body(provider)
            await provider.end()
            return result
        } catch {
            await provider.end()
            throw error
        }
    }

    static func items(_ provider: some FileProviderExtension) async throws -> [String: Item] {
        var items: [String: Item] = [:]
        var page: Page?
        repeat {
            let found = try await provider.enumerateItems(in: .rootContainer, startingAt: page)
            for item in found.items { items[item.filename.string] = item }
            page = found.nextPage
        } while page != nil
        return items
    }
}
