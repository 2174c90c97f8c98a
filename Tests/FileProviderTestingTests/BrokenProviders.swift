import FileProvider
import FileProviderTesting
import Testing

/// A provider with one fault, and the rules that must find it.
struct BrokenProvider: Sendable, CustomTestStringConvertible {
    let name: String
    let rules: Set<Int>
    let make: @Sendable (inout OverridingProvider) -> Void

    init(_ name: String, breaks rules: Set<Int>, _ make: @escaping @Sendable (inout OverridingProvider) -> Void) {
        self.name = name
        self.rules = rules
        self.make = make
    }

    var testDescription: String { name }
    var provider: OverridingProvider {
        var provider = OverridingProvider()
        make(&provider)
        return provider
    }

    static let all: [BrokenProvider] = lookers + downloaders + writers

    static let lookers: [BrokenProvider] = [
        BrokenProvider("the enumeration repeats an item", breaks: [102]) {
            $0.enumerate = { base, folder, page async throws(FileProviderError) in
                var result = try await base.enumerateItems(in: folder, startingAt: page)
                if let last = result.items.last, last.filename == "folder-b" { result.items.append(last) }
                return result
            }
        },
        BrokenProvider("the enumeration tells another metadata version than the placeholder", breaks: [103]) {
            $0.enumerate = { base, folder, page async throws(FileProviderError) in
                var result = try await base.enumerateItems(in: folder, startingAt: page)
                for index in result.items.indices where result.items[index].filename.string.contains("-") {
                    result.items[index].version.metadata = MetadataVersion("listed")
                }
                return result
            }
        },
        BrokenProvider("a folder that is gone is enumerated as empty", breaks: [106]) {
            $0.enumerate = { base, folder, page async throws(FileProviderError) in
                do {
                    return try await base.enumerateItems(in: folder, startingAt: page)
                } catch {
                    return ItemPage(items: [])
                }
            }
        },
        BrokenProvider("pages are counted by position", breaks: [107]) {
            $0.enumerate = { base, folder, page async throws(FileProviderError) in
                var items: [Item] = []
                var next: Page?
                repeat {
                    let result = try await base.enumerateItems(in: folder, startingAt: next)
                    items += result.items
                    next = result.nextPage
                } while next != nil
                let start = page.map { Int($0.bytes[0]) } ?? 0
                let end = min(items.count, start + 4)
                return ItemPage(
                    items: Array(items[min(start, end)..<end]),
                    nextPage: end < items.count ? Page(bytes: [UInt8(end)]) : nil)
            }
        },
    ]

    static let downloaders: [BrokenProvider] = [
        BrokenProvider("the last byte alone is never sent", breaks: [202]) {
            $0.download = { base, identifier, version, range, sink async throws(FileProviderError) in
                if range == 9_999..<10_000 { return }
                try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
            }
        },
        BrokenProvider("a byte too many is written", breaks: [203]) {
            $0.download = { base, identifier, version, range, sink async throws(FileProviderError) in
                try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
                try? await sink.write([0], at: range.upperBound)
            }
        },
        BrokenProvider("whatever the store has is sent", breaks: [204]) {
            $0.download = { base, identifier, _, range, sink async throws(FileProviderError) in
                let now = try await base.providePlaceholder(for: identifier).version.content
                try await base.startProvidingItem(identifier, version: now, range: range, into: sink)
            }
        },
        BrokenProvider("the sink's refusal is swallowed", breaks: [206, 805]) {
            $0.download = { base, identifier, version, range, sink async throws(FileProviderError) in
                do throws(FileProviderError) {
                    try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
                } catch {
                    guard error.code == .cancelled else { throw error }
                }
            }
        },
    ]

    static let writers: [BrokenProvider] = [
        BrokenProvider("a document under a taken name replaces the one that is there", breaks: [303, 803]) {
            $0.create = { base, template, contents async throws(FileProviderError) in
                if let old = try await base.find(template.filename, in: template.parentIdentifier),
                    old.kind.isDocument, template.kind.isDocument, let contents
                {
                    return try await base.itemChanged(
                        old.identifier, contents: contents,
                        metadata: ItemMetadata(contentModificationDate: template.contentModificationDate),
                        baseVersion: old.version)
                }
                return try await base.createItem(template, contents: contents)
            }
        },
        BrokenProvider("a short upload makes a short document", breaks: [308]) {
            $0.create = { base, template, contents async throws(FileProviderError) in
                guard let contents else { return try await base.createItem(template, contents: nil) }
                let bytes = try await base.lenientRead(contents)
                return try await base.createItem(template, contents: BytesSource(bytes))
            }
        },
        BrokenProvider("the base version of a change is ignored", breaks: [402]) {
            $0.change = { base, identifier, contents, metadata, _ async throws(FileProviderError) in
                let now = try await base.providePlaceholder(for: identifier).version
                return try await base.itemChanged(
                    identifier, contents: contents, metadata: metadata, baseVersion: now)
            }
        },
        BrokenProvider("a change returns the metadata version from before it", breaks: [403]) {
            $0.change = { base, identifier, contents, metadata, version async throws(FileProviderError) in
                var item = try await base.itemChanged(
                    identifier, contents: contents, metadata: metadata, baseVersion: version)
                if item.size == 50, item.filename == "document" { item.version.metadata = version.metadata }
                return item
            }
        },
        BrokenProvider("a change must know the newest name", breaks: [406]) {
            $0.change = { base, identifier, contents, metadata, version async throws(FileProviderError) in
                let now = try await base.providePlaceholder(for: identifier)
                guard now.version == version else {
                    throw FileProviderError(.versionMismatch, "stale", item: now)
                }
                return try await base.itemChanged(
                    identifier, contents: contents, metadata: metadata, baseVersion: version)
            }
        },
        BrokenProvider("a short upload changes a document to less", breaks: [407]) {
            $0.change = { base, identifier, contents, metadata, version async throws(FileProviderError) in
                let bytes = try await base.lenientRead(contents)
                return try await base.itemChanged(
                    identifier, contents: BytesSource(bytes), metadata: metadata, baseVersion: version)
            }
        },
        BrokenProvider("a move replaces", breaks: [503]) {
            $0.move = { base, identifier, folder, name, version async throws(FileProviderError) in
                if let old = try await base.find(name, in: folder), old.identifier != identifier {
                    try await base.deleteItem(old.identifier, baseVersion: old.version)
                }
                return try await base.moveItem(identifier, to: folder, as: name, baseVersion: version)
            }
        },
        BrokenProvider("the base version of a deletion is ignored", breaks: [602]) {
            $0.delete = { base, identifier, _ async throws(FileProviderError) in
                let now = try await base.providePlaceholder(for: identifier).version
                try await base.deleteItem(identifier, baseVersion: now)
            }
        },
        BrokenProvider("a folder is deleted with all that is in it", breaks: [603]) {
            $0.delete = { base, identifier, version async throws(FileProviderError) in
                try await removeTree(identifier, version, base)
            }
        },
        BrokenProvider("control characters are dropped from names", breaks: [701, 702]) {
            $0.create = { base, template, contents async throws(FileProviderError) in
                var template = template
                if template.filename.problem == nil {
                    template.filename = Filename(bytes: template.filename.bytes.filter { $0 >= 0x20 })
                }
                return try await base.createItem(template, contents: contents)
            }
        },
    ]

    @Sendable private static func removeTree(
        _ identifier: ItemIdentifier, _ version: ItemVersion, _ base: InMemoryProvider
    ) async throws(FileProviderError) {
        if try await base.providePlaceholder(for: identifier).kind.isFolder {
            while let child = try await base.enumerateItems(in: identifier, startingAt: nil).items.first {
                try await removeTree(child.identifier, child.version, base)
            }
        }
        try await base.deleteItem(identifier, baseVersion: version)
    }
}
