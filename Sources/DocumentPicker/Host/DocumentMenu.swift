public import UniformTypes

/// What a program can choose from before it picks a document: the providers that fit, and options of its own.
///
/// Source: Apple, `UIDocumentMenuViewController`.
public struct DocumentMenu: Sendable {
    /// Where an option of the program's stands.
    public enum Order: Sendable {
        /// Above the providers.
        case first
        /// Below them.
        case last
    }

    struct Option: Sendable {
        var title: String
        var image: String?
        var order: Order
        var handler: @Sendable () async -> Void
    }

    enum Item: Sendable {
        case option(Option)
        case provider(PickerProvider)
    }

    /// What the program wants.
    public let mode: DocumentPickerMode
    /// Of which types the document is, or may be; empty: of any.
    public let types: [UniformType]
    private(set) var options: [Option] = []

    /// See the properties.
    public init(mode: DocumentPickerMode, types: [UniformType] = []) {
        self.mode = mode
        self.types = types
    }

    /// An option of the program's own: "Take a photo". When it is chosen the picker goes, and `handler` is called. Of several,
    /// the first one stands first.
    ///
    /// - Parameter image: a name of an icon theme, or a path.
    public mutating func addOption(
        title: String, image: String? = nil, order: Order, handler: @escaping @Sendable () async -> Void
    ) {
        options.append(Option(title: title, image: image, order: order, handler: handler))
    }

    func items(_ providers: [PickerProvider], _ preferences: PickerPreferences) -> [Item] {
        let fitting = preferences.arranged(providers.filter { $0.fits(mode, types: types) })
        return options.filter { $0.order == .first }.map { .option($0) } + fitting.map { .provider($0) }
            + options.filter { $0.order == .last }.map { .option($0) }
    }
}
