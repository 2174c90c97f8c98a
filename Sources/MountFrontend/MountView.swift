package import FileProvider
package import Trees
package import Volume

/// What a mount shows of a volume, and what may be done there; a volume by itself shows all it has.
///
/// Whatever names a node or an item goes this way. What is done through an open handle the front end asks of ``volume``.
package protocol MountView: AnyObject, Sendable {
    var volume: Volume { get }
    /// Whether the kernel may keep names, attributes and pages of this mount: the volume tells it of changes.
    var isCached: Bool { get }

    // MARK: Names

    func lookUp(_ name: Filename, in folder: NodeID) throws(VolumeError) -> Outcome<Lookup?>
    func lookUp(_ id: NodeID) throws(VolumeError) -> Outcome<Lookup?>
    func lookUpParent(of folder: NodeID) throws(VolumeError) -> Outcome<Lookup?>
    func kernelForgets(_ id: NodeID, count: UInt64)
    /// The kernel did not take an answer that gave it a node.
    func forget(_ id: NodeID, count: UInt64)
    func makeFolder(
        _ name: Filename, in folder: NodeID, mode: UInt32, uid: UInt32, gid: UInt32
    ) throws(VolumeError) -> Outcome<Lookup>
    func makeLink(
        _ name: Filename, in folder: NodeID, target: [UInt8], uid: UInt32, gid: UInt32
    ) throws(VolumeError) -> Outcome<Lookup>
    func makeNode(
        _ name: Filename, in folder: NodeID, mode: UInt32, device: UInt64, uid: UInt32, gid: UInt32
    ) throws(VolumeError) -> Outcome<Lookup>
    func link(_ id: NodeID, to name: Filename, in folder: NodeID) throws(VolumeError) -> Outcome<Lookup>
    func unlink(_ name: Filename, in folder: NodeID) throws(VolumeError) -> Outcome<Void>
    func removeFolder(_ name: Filename, in folder: NodeID) throws(VolumeError) -> Outcome<Void>
    func rename(
        _ name: Filename, in folder: NodeID, to newName: Filename, in newFolder: NodeID, noReplace: Bool
    ) throws(VolumeError) -> Outcome<Void>
    func exchange(
        _ name: Filename, in folder: NodeID, with newName: Filename, in newFolder: NodeID
    ) throws(VolumeError) -> Outcome<Void>

    // MARK: Attributes

    func attributes(of id: NodeID) throws(VolumeError) -> NodeAttributes
    func setAttributes(
        _ id: NodeID, to request: AttributeRequest, through handle: HandleID?
    ) throws(VolumeError) -> NodeAttributes
    func extendedAttribute(_ name: [UInt8], of id: NodeID) throws(VolumeError) -> [UInt8]
    func extendedAttributeNames(of id: NodeID, isSuperuser: Bool) throws(VolumeError) -> [UInt8]
    func setExtendedAttribute(
        _ name: [UInt8], to value: [UInt8], of id: NodeID, presence: AttributePresence
    ) throws(VolumeError)
    func removeExtendedAttribute(_ name: [UInt8], of id: NodeID) throws(VolumeError)

    // MARK: Files and folders

    func create(
        _ name: Filename, in folder: NodeID, mode: UInt32, uid: UInt32, gid: UInt32, traits: OpenTraits
    ) throws(VolumeError) -> Outcome<(Lookup, Opened)>
    func open(
        _ id: NodeID, flags: Int32, killsPrivileges: Bool, traits: OpenTraits, thread: Int32?
    ) throws(VolumeError) -> Opened
    /// Bytes of the file were changed through a handle.
    func wasWritten(_ id: NodeID)
    /// - Parameter thread: of the program that closes the file.
    func flush(_ handle: HandleID, of id: NodeID, thread: Int32) throws(VolumeError)
    func close(_ handle: HandleID)
    func openFolder(_ id: NodeID, thread: Int32?) throws(VolumeError) -> Outcome<HandleID>
    func closeFolder(_ handle: HandleID)
    func listed(_ id: NodeID, thread: Int32?) throws(VolumeError) -> Outcome<Void>
    func entries(of id: NodeID, after cookie: Int64, limit: Int) throws(VolumeError) -> [FolderEntry]
    func parent(of id: NodeID) throws(VolumeError) -> InodeID

    /// What the answer to a change waits for: that programs at other mounts of the volume see it. Nil: nothing.
    func settling() -> (@Sendable () async -> Void)?
}

extension Volume: MountView {
    package var volume: Volume { self }
    package var isCached: Bool { true }
    package func wasWritten(_ id: NodeID) {}
    package func flush(_ handle: HandleID, of id: NodeID, thread: Int32) throws(VolumeError) { try flush(handle) }
    package func settling() -> (@Sendable () async -> Void)? { nil }
}
