import FileProvider

/// Hooks for tests: file systems that lack a feature, and moments at which other programs act. Never set outside of
/// tests.
struct Seams: Sendable {
    /// Simulates a file system without birth times or user attributes.
    var pathIdentifiersOnly = false
    /// Simulates a file system without user attributes.
    var attributesUnsupported = false
    /// Simulates a refusal of this user attribute, with this errno; nil: none.
    var attributeRefusal: (@Sendable (_ name: String) -> Int32?)?
    /// Simulates a file system without RENAME_EXCHANGE and RENAME_NOREPLACE.
    var renameFlagsUnsupported = false
    /// Seconds after which a forgotten file of our own is removed or made visible.
    var leftoverAge: Int64 = 6 * 3600
    /// Simulates this value of fs.inotify.max_user_watches.
    var watchLimit = Int.max
    /// Seconds between two `.everything` signals while some folders are not watched.
    var unwatchedInterval: Double = 5
    /// The most bytes of attributes of an item.
    var mostAttributeBytes = ExtendedAttribute.mostBytes
    /// The most names from the topmost folder down to an item.
    var deepest = 256
    /// The time that the watcher's thread walks before it reads events again.
    var walkTurn = Duration.milliseconds(20)
    /// Simulates a folder below the root that cannot be read in a walk.
    var walkFails = false
    /// Called on the watcher's thread, before it reads events.
    var beforeEvents: (@Sendable () -> Void)?
    /// Called before each name of a listing is looked at.
    var beforeLookup: (@Sendable (_ name: [UInt8]) -> Void)?
    /// Called before a document of which only the change time has changed is compared.
    var beforeComparing: (@Sendable (_ name: [UInt8]) -> Void)?
    /// Called after a folder is made, before it is opened.
    var afterMakingFolder: (@Sendable (_ name: [UInt8]) -> Void)?
    /// Called after the item of a metadata change is checked, before it is opened.
    var beforeOpening: (@Sendable () -> Void)?
    /// Called between the last check of the version and the exchange, the move aside or the rename.
    var beforeCommit: (@Sendable () -> Void)?
    /// Called after the exchange, before the displaced file is checked.
    var afterExchange: (@Sendable () -> Void)?
    /// Called after new contents, or a date, are in place, before the returned item is read.
    var beforeReply: (@Sendable () -> Void)?
    /// Called after the displaced file was found to be the base version, before it is unlinked.
    var beforeUnlink: (@Sendable () -> Void)?
}
