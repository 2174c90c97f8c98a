package import FileProvider

/// What the kernel calls an inode: a generation of one, so that a replaced document is a new file to
/// whoever looks anew. Never reused within a mount.
package struct NodeID: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package static let root = NodeID(rawValue: 1)
}

/// What a program's open file is called between the kernel and us.
package struct HandleID: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// Tells the kernel what to forget. Implementations queue; they never block.
package protocol KernelNotifying: Sendable {
    func invalidateEntry(in folder: NodeID, name: Filename)
    func invalidateAttributes(of node: NodeID)
    /// Attributes and cached pages.
    func invalidateContents(of node: NodeID)
}

/// Lets the kernel read and write a local file without us (FUSE passthrough).
package protocol BackingRegistering: Sendable {
    /// Nil where this process may not, or the kernel cannot.
    func register(_ descriptor: Int32) -> Int32?
    func unregister(_ backing: Int32)
}
