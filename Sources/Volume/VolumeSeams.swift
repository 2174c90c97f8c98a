package import FileProvider

/// The kernel's name for an inode: for one generation of it, so that a replaced document is a new file to programs that
/// look it up anew. Never reused within a mount.
package struct NodeID: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package static let root = NodeID(rawValue: 1)
}

/// The name of a program's open file between the kernel and us.
package struct HandleID: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// Tells the kernel what to forget. Implementations queue; they never block.
package protocol KernelNotifying: Sendable {
    func invalidateEntry(in folder: NodeID, name: Filename)
    /// The kernel asks again the next time that a program looks up this name. If a program has found the item by now,
    /// it keeps it: a name that is invalidated while a program's working directory is there is a deleted one to
    /// getcwd(3).
    func expireEntry(in folder: NodeID, name: Filename)
    func invalidateAttributes(of node: NodeID)
    /// Attributes and cached pages.
    func invalidateContents(of node: NodeID)
    /// Attributes and the cached pages of a range. `then` is called, once, when the kernel has forgotten them.
    func invalidateContents(of node: NodeID, range: Range<Int64>, then: @escaping @Sendable () -> Void)
    /// Returns when the kernel has forgotten what it was told so far about this node and the names in it, at the latest
    /// after so many seconds; says whether it has.
    func settle(_ node: NodeID, seconds: Double) async -> Bool
}

extension KernelNotifying {
    package func invalidateContents(of node: NodeID, range: Range<Int64>, then: @escaping @Sendable () -> Void) {
        invalidateContents(of: node)
        then()
    }
    package func settle(_ node: NodeID, seconds: Double) async -> Bool { true }
}

/// Lets the kernel read and write a local file without us (FUSE passthrough).
package protocol BackingRegistering: Sendable {
    /// Nil if this process may not, or the kernel cannot.
    func register(_ descriptor: Int32) -> Int32?
    func unregister(_ backing: Int32)
    /// Whether registering costs less than serving a program that reads a document of so many bytes, and writes none.
    func paysForReaders(of size: Int64) -> Bool
}

extension BackingRegistering {
    package func paysForReaders(of size: Int64) -> Bool { true }
}
