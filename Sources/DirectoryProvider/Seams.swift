import FileProvider

/// Where tests reach in: file systems that lack something, and moments in which others act. Nothing here
/// is set outside of tests.
struct Seams: Sendable {
    /// As on a file system without birth times or user attributes.
    var pathIdentifiersOnly = false
    /// As on a file system without user attributes.
    var attributesUnsupported = false
    /// As if the file system refused this user attribute, with this errno; nil is no refusal.
    var attributeRefusal: (@Sendable (_ name: String) -> Int32?)?
    /// As on a file system without RENAME_EXCHANGE and RENAME_NOREPLACE.
    var renameFlagsUnsupported = false
    /// Seconds after which a forgotten file of our own is dealt with.
    var leftoverAge: Int64 = 6 * 3600
    /// As if fs.inotify.max_user_watches were this.
    var watchLimit = Int.max
    /// Seconds between two `.everything` signals while folders go unwatched.
    var unwatchedInterval: Double = 5
    /// So many bytes of attributes an item has at most.
    var mostAttributeBytes = ExtendedAttribute.mostBytes
    /// An item has so many names from the topmost folder down to it, at most.
    var deepest = 256
    /// For so long the watcher's thread looks for more folders before it looks for events again.
    var walkTurn = Duration.milliseconds(20)
    /// As if a folder below the root could not be read in a walk.
    var walkFails = false
    /// On the watcher's thread, before it reads events.
    var beforeEvents: (@Sendable () -> Void)?
    /// Before each name of a listing is looked at.
    var beforeLook: (@Sendable (_ name: [UInt8]) -> Void)?
    /// Before a document is compared of which only the change time has changed.
    var beforeComparing: (@Sendable (_ name: [UInt8]) -> Void)?
    /// After a folder is made, before it is opened.
    var afterMakingFolder: (@Sendable (_ name: [UInt8]) -> Void)?
    /// After an item whose metadata are to be set is looked at, before it is opened.
    var beforeOpening: (@Sendable () -> Void)?
    /// Between the last check of the version and the exchange, the move aside or the rename.
    var beforeCommit: (@Sendable () -> Void)?
    /// After the exchange, before what was displaced is looked at.
    var afterExchange: (@Sendable () -> Void)?
    /// After new contents, or a date, are in their place, before they are looked at for the answer.
    var beforeReply: (@Sendable () -> Void)?
    /// After what was displaced was found to be the base version, before it is unlinked.
    var beforeUnlink: (@Sendable () -> Void)?
}
