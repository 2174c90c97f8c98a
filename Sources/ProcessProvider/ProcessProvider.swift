package import FileProvider
package import Foundation
package import Logging
import Waiting

/// The provider of a store that a separate program serves, in any language: it passes each hook to the program in the
/// provider protocol (<doc:/FileProvider/ProviderProtocol>).
package final class ProcessProvider: FileProviderExtension {
    private let program: ProgramSupervisor
    let reception: ProgramReception
    /// What the program said at its start.
    let said: Message.Abilities
    private let turns: AsyncSemaphore?

    package let providerIdentifier: String
    package let documentGroup: String?
    package let isReadOnly: Bool
    package let abilities: Set<Ability>

    /// - Parameter logger: for what the program prints to its standard error; nil: that goes to this process's.
    /// - Throws: why the program cannot serve the store.
    package static func start(
        _ command: ProgramCommand, patience: Patience = Patience(), pauses: ProgramPauses = ProgramPauses(),
        logger: Logger?
    ) async throws(FileProviderError) -> ProcessProvider {
        let log = logger.map { ProgramLog(name: command.name, logger: $0) }
        let reception = ProgramReception(log: log)
        let program = ProgramSupervisor(command, reception, patience: patience, pauses: pauses, log: log)
        let said = try await program.begin()
        guard !said.providerIdentifier.isEmpty, said.providerIdentifier.utf8.count <= Self.longestIdentifier else {
            await program.end()
            throw FileProviderError(
                .cannotSynchronize,
                "\(command.name): its providerIdentifier is empty or longer than \(Self.longestIdentifier) bytes")
        }
        return ProcessProvider(program, reception, said)
    }

    /// In bytes.
    private static let longestIdentifier = 255

    private init(_ program: ProgramSupervisor, _ reception: ProgramReception, _ said: Message.Abilities) {
        self.program = program
        self.reception = reception
        self.said = said
        providerIdentifier = said.providerIdentifier
        documentGroup = said.documentGroup
        isReadOnly = said.isReadOnly ?? false
        var abilities = Set((said.abilities ?? []).compactMap { Ability(rawValue: $0) })
        if abilities.contains(.thumbnailKeeping) { abilities.insert(.thumbnailProviding) }
        self.abilities = abilities
        turns = said.requestsAtOnce.map { AsyncSemaphore(max(1, min($0, Self.mostAtOnce))) }
    }

    private static let mostAtOnce = 1_000

    // MARK: Calls

    func call<Answer: Decodable & Sendable>(
        _ method: Method, _ params: some Encodable & Sendable, contents: (any ContentSource)? = nil,
        domain: (any FileProviderDomain)? = nil, into sink: (any ContentSink)? = nil
    ) async throws(FileProviderError) -> Answer {
        if let turns {
            do { try await turns.enter() } catch {
                throw FileProviderError(.cancelled, "\(method.rawValue): cancelled before the program was asked")
            }
        }
        defer { turns?.leave() }
        return try await program.connection().call(method, params, contents: contents, domain: domain, into: sink)
    }

    func item(
        _ method: Method, _ params: some Encodable & Sendable, contents: (any ContentSource)? = nil
    ) async throws(FileProviderError) -> Item {
        let answer: Message.ItemAnswer = try await call(method, params, contents: contents)
        return answer.item.value
    }

    func nothing(
        _ method: Method, _ params: some Encodable & Sendable, contents: (any ContentSource)? = nil,
        into sink: (any ContentSink)? = nil
    ) async throws(FileProviderError) {
        let _: Message.Nothing = try await call(method, params, contents: contents, into: sink)
    }

    func notify(_ method: Method) {
        Task { [program] in try? await program.connection().notify(method, Message.Nothing()) }
    }

    // MARK: The domain

    package func beginServing(_ domain: any FileProviderDomain) async throws(FileProviderError) {
        try await nothing(.beginServing, Message.BeginServing(domain))
        reception.domain = domain
    }

    package func persistentIdentifierForItem(
        at url: URL, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> ItemIdentifier {
        if said.answersPersistentIdentifiers == true {
            let answer: Message.Identified = try await call(
                .persistentIdentifierForItem, Message.Located(url: url.absoluteString), domain: domain)
            return answer.identifier
        }
        return said.identifiersArePersistent == true
            ? try await storeIdentifierForItem(at: url, in: domain)
            : try await domain.catalogIdentifierForItem(at: url)
    }

    package func urlForItem(
        withPersistentIdentifier identifier: ItemIdentifier, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> URL {
        if said.answersPersistentIdentifiers == true {
            let answer: Message.Located = try await call(
                .urlForItem, Message.Identified(identifier: identifier), domain: domain)
            guard let url = URL(string: answer.url) else {
                throw FileProviderError(.cannotSynchronize, "the provider's answer to urlForItem is not a URL")
            }
            return url
        }
        return said.identifiersArePersistent == true
            ? try await urlForItem(withStoreIdentifier: identifier, in: domain)
            : try await domain.urlForItem(withCatalogIdentifier: identifier)
    }

    // MARK: The hooks of every provider

    package func providePlaceholder(for identifier: ItemIdentifier) async throws(FileProviderError) -> Item {
        try await item(.providePlaceholder, Message.Identified(identifier: identifier))
    }

    package func enumerateItems(
        in folder: ItemIdentifier, startingAt page: Page?
    ) async throws(FileProviderError) -> ItemPage {
        let answer: Message.Items = try await call(
            .enumerateItems, Message.Enumerate(folder: folder, page: page.map { ByteString($0.bytes) }))
        return answer.value
    }

    package func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(FileProviderError) {
        try await nothing(
            .startProvidingItem,
            Message.Download(identifier: identifier, version: ByteString(version.bytes), range: range), into: sink)
    }

    package func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try await item(
            .itemChanged,
            Message.Change(
                identifier: identifier, contents: Message.Contents(size: contents.size),
                metadata: WireMetadata(metadata), baseVersion: WireVersion(baseVersion)),
            contents: contents)
    }

    package func stopProvidingItem(_ identifier: ItemIdentifier) async -> ContentDisposition {
        let answer: Message.Disposition? = try? await call(
            .stopProvidingItem, Message.Identified(identifier: identifier))
        return answer?.value ?? .keep
    }

    package func createItem(
        _ template: ItemTemplate, contents: (any ContentSource)?
    ) async throws(FileProviderError) -> Item {
        try await item(
            .createItem,
            Message.Create(
                template: WireTemplate(template), contents: contents.map { Message.Contents(size: $0.size) }),
            contents: contents)
    }

    package func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try await item(
            .moveItem,
            Message.Move(
                identifier: identifier, folder: folder, filename: ByteString(filename.bytes),
                baseVersion: WireVersion(baseVersion)))
    }

    package func deleteItem(
        _ identifier: ItemIdentifier, baseVersion: ItemVersion
    ) async throws(FileProviderError) {
        try await nothing(
            .deleteItem, Message.Delete(identifier: identifier, baseVersion: WireVersion(baseVersion)))
    }

    /// Ends the program.
    package func end() async {
        reception.endSignals()
        await program.end()
    }
}
