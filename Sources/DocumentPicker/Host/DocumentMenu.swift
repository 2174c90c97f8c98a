public import UniformTypes

/// The menu before the picker: the providers that fit, and options of the program's own.
///
/// Source: Apple, `UIDocumentMenuViewController`.
public struct DocumentMenu: Sendable {
    /// The place of the program's options.
    public enum Order: Sendable {
        /// Above the providers.
        case first
        /// Below the providers.
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

    /// The mode that the program asks for.
    public let mode: DocumentPickerMode
    /// The types that the document has or may have; empty: any.
    public let types: [UniformType]
    private(set) var options: [Option] = []

    /// See the properties.
    public init(mode: DocumentPickerMode, types: [UniformType] = []) {
        self.mode = mode
        self.types = types
    }

    /// Adds an option of the program's own, such as "Take a photo". When the user chooses it, the picker closes and
    /// calls `handler`. Options keep their order.
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
