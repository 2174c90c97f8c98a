import FileProvider
import Trees

/// A provider is not trusted: what it answers to a change is looked at before it gets into the trees.
extension StepRunner {
    /// Throws ``SyncError/untrusted(_:)`` for an answer that cannot be about what was sent: the change stays pending,
    /// and the bytes here, which may be the only ones, are not taken for confirmed.
    ///
    /// Another name is taken: the store has the last word on what it calls its items.
    /// - Parameter size: of the contents that were sent.
    func check(_ reply: Item, to item: ItemRecord, size: Int64? = nil) throws {
        if let problem = reply.problem { throw refusal(item, problem) }
        if InodeKind(reply.kind) != InodeKind(item.kind) {
            throw refusal(item, "it is another kind of item than was sent")
        }
        if let size, reply.size != size {
            throw refusal(item, "it has \(reply.size) bytes, and \(size) were sent")
        }
    }

    func refusal(_ item: ItemRecord, _ why: String) -> SyncError {
        .untrusted(
            "\(context.path(of: item)): the provider's answer cannot be right: \(why)")
    }

    /// What the provider has of an item now.
    func current(_ error: FileProviderError? = nil, _ identifier: ItemIdentifier) async throws(FileProviderError)
        -> Item
    {
        if let item = error?.trustedItem, item.identifier == identifier { return item }
        let item = try await placeholder(identifier, nil)
        if let problem = item.identifier == identifier ? item.problem : "it is about another item" {
            throw FileProviderError(
                .cannotSynchronize, "\(identifier): the provider's answer cannot be right: \(problem)")
        }
        return item
    }
}

extension FileProviderError {
    /// The item that an error is about, unless it is none that there can be.
    var trustedItem: Item? { item.flatMap { $0.problem == nil ? $0 : nil } }
}
