public import Foundation
import Synchronization

/// A document to preview.
public struct PreviewItem: Sendable, Hashable {
    /// The document's URL.
    public var url: URL
    /// The title; nil: the document's name.
    public var title: String?

    /// See the properties.
    public init(url: URL, title: String? = nil) {
        self.url = url
        self.title = title
    }
}

/// Previews of one document or of several, one after another.
///
/// Source: Apple, `QLPreviewController`.
public final class PreviewController: Sendable {
    /// The documents.
    public let items: [PreviewItem]
    private let current = Mutex(0)

    /// See ``items``.
    public init(items: [PreviewItem]) { self.items = items }

    /// The number of documents.
    public var count: Int { items.count }

    /// The index of the current document, from 0.
    public var index: Int { current.withLock { $0 } }

    /// The current document's title, or its name.
    public var title: String {
        guard items.indices.contains(index) else { return "" }
        return items[index].title ?? items[index].url.lastPathComponent
    }

    /// Goes to the next document. False: this was the last.
    @discardableResult
    public func next() -> Bool { go(to: index + 1) }

    /// Goes to the previous document. False: this was the first.
    @discardableResult
    public func previous() -> Bool { go(to: index - 1) }

    /// Goes to the document with an index. False: there is none.
    @discardableResult
    public func go(to index: Int) -> Bool {
        guard items.indices.contains(index) else { return false }
        current.withLock { $0 = index }
        return true
    }

    /// Makes a preview of the current document.
    ///
    /// - Throws: as ``DocumentInteractionController/preview(title:progress:)``.
    public func preview(progress: (@Sendable (DownloadProgress) -> Void)? = nil) async throws -> Preview {
        guard items.indices.contains(index) else {
            throw DocumentInteractionError(.nothingToShow, "there is no document to preview")
        }
        let item = items[index]
        return try await DocumentInteractionController(url: item.url).preview(title: item.title, progress: progress)
    }
}
