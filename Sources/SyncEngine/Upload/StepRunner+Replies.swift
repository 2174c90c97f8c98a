import FileProvider
import Trees

/// Checks a provider's reply to a change before the reply gets into the trees: providers are not trusted.
extension StepRunner {
    /// Throws ``SyncError/untrusted(_:)`` for a reply that cannot be about what was sent: the change stays pending, and
    /// the local bytes, which may be the only copy, do not count as confirmed.
    ///
    /// A different name is accepted: the store decides how it names its items.
    /// - Parameter size: of the contents that were sent.
    func check(_ reply: Item, to item: ItemRecord, size: Int64? = nil) throws {
        if let problem = reply.problem { throw refusal(item, problem) }
        if InodeKind(reply.kind) != InodeKind(item.kind) {
            throw refusal(item, "its kind is not that of the item that was sent")
        }
        if let size, reply.size != size {
            throw refusal(item, "it has \(reply.size) bytes, and \(size) were sent")
        }
    }

    func refusal(_ item: ItemRecord, _ why: String) -> SyncError {
        .untrusted(
            "\(mount.path(of: item)): the provider's answer cannot be right: \(why)")
    }

    /// The provider's present version of an item.
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

    /// Asks again for an item that the provider called gone: a store that was away for a moment (a share that was taken
    /// back) gives that answer too.
    ///
    /// - Throws: ``FileProviderError/Code/busy`` when the item is there: the step is tried again.
    func checkGone(_ identifier: ItemIdentifier, _ item: ItemRecord) async throws(FileProviderError) {
        do { _ = try await placeholder(identifier, item) } catch {
            if error.code == .noSuchItem { return }
            throw error
        }
        throw FileProviderError(.busy, "\(mount.path(of: item)): the store called it gone, and has it")
    }
}

extension FileProviderError {
    /// The item that an error is about, unless the item is impossible.
    var trustedItem: Item? { item.flatMap { $0.problem == nil ? $0 : nil } }
}
