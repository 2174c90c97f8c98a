import FileProvider

/// Converts permission bits between the store and programs.
enum Permissions {
    static let setID: UInt16 = 0o6000
    /// The bits of an item.
    static let ofItems: UInt16 = 0o1777

    /// The bits shown for a file: without setuid and setgid, which would stand for the daemon's user; with an access
    /// list, which a mode cannot express, no more than the list grants.
    static func shown(_ status: FileStatus, _ list: AccessList?) -> UInt16 {
        let mode = status.permissions & ofItems
        return list?.narrowed(mode) ?? mode
    }

    /// The file's new bits when `shown` becomes `wanted`: the bits that differ are set, and the others stay, as they
    /// may be the mask of an access list.
    static func merged(_ wanted: UInt16, over file: UInt16, shownAs shown: UInt16) -> UInt16 {
        let changed = (wanted ^ shown) & ofItems
        return file & ofItems & ~changed | wanted & changed
    }

    /// Setuid and setgid, if the file belongs to the owner and group for which they were set. Otherwise they would
    /// grant the rights of the file's owner in the store.
    static func setID(_ given: SetID?, for file: FileStatus) -> UInt16 {
        guard let given, given.owner == file.owner, given.group == file.group else { return 0 }
        return given.bits & setID
    }
}
