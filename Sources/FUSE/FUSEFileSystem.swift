/// What a mounted file system answers. Called on libfuse's threads; each request is answered
/// there or later from any thread (see `FUSEPendingRequest`). No call may wait for a network:
/// there are only `FUSESession.Options.maxThreads` threads.
public protocol FUSEFileSystem: AnyObject, Sendable {
    func lookup(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8])
    /// The kernel gives back `count` lookups of a node. Nobody waits for an answer.
    func forget(node: UInt64, count: UInt64)
    func getattr(_ request: consuming FUSERequest, node: UInt64, handle: UInt64?)
    func setattr(
        _ request: consuming FUSERequest, node: UInt64, to attributes: FUSESetAttributes, handle: UInt64?)
    func readlink(_ request: consuming FUSERequest, node: UInt64)

    func mkdir(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8], mode: UInt32)
    func unlink(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8])
    func rmdir(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8])
    func symlink(_ request: consuming FUSERequest, target: [UInt8], parent: UInt64, name: [UInt8])
    func rename(
        _ request: consuming FUSERequest, parent: UInt64, name: [UInt8], newParent: UInt64, newName: [UInt8],
        flags: UInt32)

    func create(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8], mode: UInt32, flags: Int32)
    func open(_ request: consuming FUSERequest, node: UInt64, flags: Int32)
    func read(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int)
    /// `bytes` are gone when the call returns.
    func write(
        _ request: consuming FUSERequest, node: UInt64, handle: UInt64, bytes: UnsafeRawBufferPointer,
        offset: Int64)
    func flush(_ request: consuming FUSERequest, node: UInt64, handle: UInt64)
    func release(_ request: consuming FUSERequest, node: UInt64, handle: UInt64)
    func fsync(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, dataOnly: Bool)

    func opendir(_ request: consuming FUSERequest, node: UInt64, flags: Int32)
    func readdir(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int)
    func readdirplus(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int)
    func releasedir(_ request: consuming FUSERequest, node: UInt64, handle: UInt64)
    func fsyncdir(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, dataOnly: Bool)

    func statfs(_ request: consuming FUSERequest, node: UInt64)
}
