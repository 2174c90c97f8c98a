import FileProvider

/// Rules for providers whose items have extended attributes.
extension ConformanceSuite {
    static let attributeRules: [ConformanceRule] = [
        ConformanceRule(907, "A creation keeps the given extended attributes.") { it in
            _ = try await makePlain(it)
            let kinds: [ItemKind] = try await keepsFolders(it) ? [.document, .folder] : [.document]
            for kind in kinds {
                var template = it.template(kind.isFolder ? "folder" : "document", kind: kind)
                template.extendedAttributes = first
                let item = try await it.provider.createItem(
                    template, contents: kind.isDocument ? BytesSource("contents") : nil)
                try requireAttributes(it, item, are: first)
                try await it.requireIsCurrent(item)
            }
        },
        ConformanceRule(908, "A change of contents sets the given extended attributes, and no others.") { it in
            var item = try await makePlain(it)
            for attributes in [first, second] {
                item = try await change(it, item, attributes)
                try requireAttributes(it, item, are: attributes)
                try await it.requireIsCurrent(item)
            }
        },
        ConformanceRule(909, "An update of metadata sets the given extended attributes, and no others.") {
            it in
            let provider = try metadataProvider(it)
            for plain in [try await makePlain(it), try await it.makeFolder("folder")]
            where plain.extendedAttributes != nil {
                var item = plain
                for attributes in [first, second] {
                    item = try await update(provider, item, attributes)
                    try requireAttributes(it, item, are: attributes)
                    try await it.requireIsCurrent(item)
                }
            }
        },
        ConformanceRule(910, "A change that names no extended attributes keeps them.") { it in
            _ = try await makePlain(it)
            var template = it.template("document")
            template.extendedAttributes = first
            var item = try await it.provider.createItem(template, contents: BytesSource("contents"))
            let before = item.extendedAttributes
            item = try await change(it, item, nil)
            try it.require(item.extendedAttributes == before, "a change of contents removed them")
            if let provider = it.abilities.metadata {
                item = try await update(provider, item, nil)
                try it.require(item.extendedAttributes == before, "an update of metadata removed them")
            }
            item = try await it.provider.moveItem(
                item.identifier, to: it.folder, as: "renamed", baseVersion: item.version)
            try it.require(item.extendedAttributes == before, "a rename removed them")
        },
        ConformanceRule(911, "The metadata version changes with the extended attributes.") { it in
            let provider = try metadataProvider(it)
            var item = try await makePlain(it, "metadata")
            for attributes in [first, second, changedValue] {
                let next = try await update(provider, item, attributes)
                try it.require(
                    next.version.metadata != item.version.metadata
                        || next.extendedAttributes == item.extendedAttributes,
                    "it is \(next.version.metadata) before and after")
                item = next
            }
        },
        ConformanceRule(912, "The content version does not change with the extended attributes.") { it in
            let provider = try metadataProvider(it)
            let item = try await makePlain(it, "contents")
            // The date stays the same, as it may be part of the version.
            let updated = try await update(provider, item, first)
            try it.require(
                updated.version.content == item.version.content,
                "it was \(item.version.content) and is \(updated.version.content)")
        },
        ConformanceRule(913, "An empty set of extended attributes removes all.") { it in
            var item = try await makePlain(it)
            item = try await change(it, item, first)
            item = try await change(it, item, [:])
            try requireAttributes(it, item, are: [:])
            guard let provider = it.abilities.metadata else { return }
            item = try await update(provider, item, first)
            item = try await update(provider, item, [:])
            try requireAttributes(it, item, are: [:])
        },
        ConformanceRule(914, "An enumeration has the extended attributes that a placeholder has.") { it in
            _ = try await makePlain(it)
            for name: Filename in ["one", "two"] {
                var template = it.template(name)
                template.extendedAttributes = first
                _ = try await it.provider.createItem(template, contents: BytesSource("contents"))
            }
            for item in try await it.items() {
                let placeholder = try await it.placeholder(item)
                try it.require(
                    item.extendedAttributes == placeholder.extendedAttributes,
                    "\(item.filename): it has \(describe(item)), the placeholder \(describe(placeholder))")
            }
        },
    ]

    /// Small, so that every store has room for them.
    private static let first: [String: [UInt8]] = [
        "user.plain": Array("red".utf8), "user.empty": [], "user.bytes": Array(0...255),
        "user.größe — 大": Array("beyond ASCII".utf8),
    ]
    /// One stays, one changes its value, two go, one is new.
    private static let second: [String: [UInt8]] = [
        "user.bytes": Array(0...255), "user.plain": Array("a longer red".utf8), "user.new": [0],
    ]
    /// As ``second``, except for one value of the same length.
    private static let changedValue: [String: [UInt8]] = second.merging(["user.new": [1]]) { $1 }

    /// A document without attributes; skips where the store keeps none.
    private static func makePlain(_ it: ConformanceContext, _ name: Filename = "plain") async throws -> Item {
        let item = try await it.makeDocument(name)
        guard item.extendedAttributes != nil else { throw RuleSkip("the store keeps no extended attributes") }
        return item
    }

    /// A store may keep attributes of documents only (S3).
    private static func keepsFolders(_ it: ConformanceContext) async throws -> Bool {
        try await it.makeFolder("plain folder").extendedAttributes != nil
    }

    private static func change(
        _ it: ConformanceContext, _ item: Item, _ attributes: [String: [UInt8]]?
    ) async throws -> Item {
        try await it.provider.itemChanged(
            item.identifier, contents: BytesSource(ConformanceContext.testBytes(30)),
            metadata: metadata(of: item, attributes), baseVersion: item.version)
    }

    private static func update(
        _ provider: any MetadataUpdating, _ item: Item, _ attributes: [String: [UInt8]]?
    ) async throws -> Item {
        try await provider.updateMetadata(
            item.identifier, to: metadata(of: item, attributes), baseVersion: item.version)
    }

    private static func metadata(of item: Item, _ attributes: [String: [UInt8]]?) -> ItemMetadata {
        ItemMetadata(contentModificationDate: item.contentModificationDate, extendedAttributes: attributes)
    }

    private static func requireAttributes(
        _ it: ConformanceContext, _ item: Item, are attributes: [String: [UInt8]]
    ) throws {
        try it.require(
            item.extendedAttributes == attributes,
            "given were \(attributes.keys.sorted()), \(item.filename) has \(describe(item))")
    }

    private static func describe(_ item: Item) -> String {
        guard let attributes = item.extendedAttributes else { return "nothing" }
        return "[" + attributes.sorted { $0.key < $1.key }.map { "\($0): \($1)" }.joined(separator: ", ") + "]"
    }
}
