import ContentStore
import Locking

/// Writes past the kernel's cache (open(2), O_DIRECT) to a file whose pages it keeps.
extension Volume {
    /// The kernel drops the pages of the range before it sends the write, and again after a write that the writer has
    /// waited for. After an asynchronous write (io_submit(2), io_uring(7)) it does not: a page that somebody has read
    /// meanwhile would be shown for ever.
    ///
    /// - Parameter then: called, once, when the write may be answered: programs that read after that see what was
    ///   written.
    package func wasWrittenDirectly(
        _ id: NodeID, _ range: Range<Int64>, then: @escaping @Sendable () -> Void
    ) {
        let isWhole: Bool? = table.made(id)?.withLock { state in
            guard let open = state.open, open.mode == .cached else { return nil }
            return open.content.isComplete
        }
        guard let isWhole else { return then() }
        if isWhole { return kernel.invalidateContents(of: id, range: range, then: then) }
        // A read that waits for the store may have locked a page; the write must not wait for that.
        kernel.invalidateContents(of: id, range: range) {}
        then()
    }
}
