public import FileProvider

/// A store in memory with exactly one fault, and the one rule of the ``ConformanceSuite`` that finds it.
///
/// There is one for every rule: they prove that each rule can fail, and that no rule fails for another's fault. The
/// author of a provider can
///
/// - read, next to a rule that the provider breaks, a fault that breaks only this rule;
/// - run their own tests against them, to see which faults the tests find;
/// - see how a mount behaves on such a store: Hydrant checks every answer, and must lose nothing.
///
/// ```swift
/// for broken in BrokenProvider.all {
///     let (provider, otherClient) = try broken.makeStore()
///     let report = await ConformanceSuite(provider: provider, otherClient: otherClient).run()
///     print(broken, report.failures.map(\.rule.number) == [broken.rule])
/// }
/// ```
///
/// Many faults are limited (to small documents, say, or to a folder that has been renamed): a fault in all cases would
/// break many rules at once.
public struct BrokenProvider: Sendable, CustomStringConvertible, Identifiable {
    /// The contents of a store before the first client connects.
    enum Contents: Hashable, Sendable {
        case nothing
        /// Some items that may be changed.
        case items
        /// Some items, none of which may be changed.
        case itemsToRead
    }

    /// The number of the rule that finds the fault.
    public let rule: Int
    /// The fault, as a sentence.
    public let fault: String
    let contents: Contents
    private let tamper: @Sendable (inout Tampering) -> Void

    /// The number of its ``rule``.
    public var id: Int { rule }
    /// The rule's number and the fault.
    public var description: String { "\(rule): \(fault)" }

    init(
        _ rule: Int, _ fault: String, with contents: Contents = .nothing,
        _ tamper: @escaping @Sendable (inout Tampering) -> Void
    ) {
        self.rule = rule
        self.fault = fault
        self.contents = contents
        self.tamper = tamper
    }

    /// All of them, by the number of the rule.
    public static let all: [BrokenProvider] = [
        listers, downloaders, creators, changers, movers, deleters, namers, jugglers, metadataKeepers, attributeKeepers,
        walkers, readers, refusers, historians, allowers, copiers, trashers, painters, accountants,
        guides, finders, markers, sharers, archivists,
    ].flatMap { (group: [BrokenProvider]) -> [BrokenProvider] in group }

    /// A new store with two clients; both have the fault, unless the fault concerns the other client's changes.
    ///
    /// - Throws: only if the store in memory itself has a fault.
    public func makeStore() throws(FileProviderError) -> (
        provider: any FileProviderExtension, otherClient: any FileProviderExtension
    ) {
        var tampering = Tampering()
        tamper(&tampering)
        let store = InMemoryProvider(pageSize: 4, pieceSize: 16 << 10, signalsOwnChanges: true, features: .all)
        if contents != .nothing { try Self.fill(store) }
        store.isReadOnly = contents == .itemsToRead
        let other: any FileProviderExtension =
            tampering.otherIsHonest ? store : TamperedProvider(store, tampering)
        return (TamperedProvider(store, tampering), other)
    }

    /// More items in the topmost folder than fit on a page; documents of different sizes, the largest deep down; a
    /// document and a folder that may not be changed.
    private static func fill(_ store: InMemoryProvider) throws(FileProviderError) {
        try store.put("readme.txt", ConformanceContext.testBytes(12))
        try store.put("report.bin", ConformanceContext.testBytes(10_000))
        try store.put("empty", [])
        try store.link("latest", to: "report.bin")
        try store.put("notes/one.txt", ConformanceContext.testBytes(40))
        try store.put("notes/two.txt", ConformanceContext.testBytes(50))
        try store.put("notes/deep/data.bin", ConformanceContext.testBytes(60_000))
        try store.mkdir("archive")
        try store.setCapabilities(.readOnly, at: "readme.txt")
        try store.setCapabilities([.reading, .renaming, .deleting], at: "archive")
    }
}
