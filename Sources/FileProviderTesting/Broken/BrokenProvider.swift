public import FileProvider

/// A store in memory with exactly one fault, and the one rule of the ``ConformanceSuite`` that finds it.
///
/// There is one for every rule: they are the proof that each rule can fail, and that none fails for another's fault. The
/// author of a provider can
///
/// - read, next to a rule that his provider breaks, what a provider does that breaks just this one;
/// - run the tests that he wrote himself against them, to see which faults they would find;
/// - see what the user of a mount gets from such a store: Hydrant trusts no answer, and must lose nothing.
///
/// ```swift
/// for broken in BrokenProvider.all {
///     let (provider, otherClient) = try broken.makeStore()
///     let report = await ConformanceSuite(provider: provider, otherClient: otherClient).run()
///     print(broken, report.failures.map(\.rule.number) == [broken.rule])
/// }
/// ```
///
/// Many faults show only in part of what a real one would spoil (with small documents, say, or in a folder that has been
/// renamed): a fault of everything breaks many rules at once.
public struct BrokenProvider: Sendable, CustomStringConvertible, Identifiable {
    /// What a store has before anybody connects to it.
    enum Contents: Hashable, Sendable {
        case nothing
        /// Some items that may be changed.
        case items
        /// Some items, of which the store lets nobody change any.
        case itemsToRead
    }

    /// The number of the rule that finds the fault.
    public let rule: Int
    /// What it does wrong, as a sentence.
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

    /// Every one, by the number of its rule.
    public static let all: [BrokenProvider] = [
        lookers, downloaders, creators, changers, movers, deleters, namers, jugglers, metadataKeepers, attributeKeepers,
        walkers, readers, refusers, historians, allowers, copiers, trashers, painters, accountants,
        guides, finders,
    ].flatMap { (group: [BrokenProvider]) -> [BrokenProvider] in group }

    /// A new store, and two ways to it, both of which have the fault, where it is not one of what the other does.
    ///
    /// - Throws: nothing, but for a fault of the store in memory itself.
    public func makeStore() throws(FileProviderError) -> (
        provider: any FileProviderExtension, otherClient: any FileProviderExtension
    ) {
        var tampering = Tampering()
        tamper(&tampering)
        let store = InMemoryProvider(pageSize: 4, pieceSize: 16 << 10, signalsOwnChanges: true, abilities: .all)
        if contents != .nothing { try Self.fill(store) }
        store.isReadOnly = contents == .itemsToRead
        let other: any FileProviderExtension =
            tampering.otherIsHonest ? store : TamperedProvider(store, tampering)
        return (TamperedProvider(store, tampering), other)
    }

    /// More items in the topmost folder than are on a page; documents of different sizes, the largest deep down; one of
    /// them, and a folder, that may not be changed.
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
