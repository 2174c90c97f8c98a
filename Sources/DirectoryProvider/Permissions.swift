import FileProvider

/// Permission bits on their way between the store and programs.
enum Permissions {
    static let setID: UInt16 = 0o6000
    /// What an item has.
    static let ofItems: UInt16 = 0o1777

    /// What is shown of a file: no setuid and setgid, which would make the file that of the daemon's user; and of an access
    /// list, which a mode cannot say, nothing that it does not give.
    static func shown(_ status: FileStatus, _ list: AccessList?) -> UInt16 {
        let mode = status.permissions & ofItems
        return list?.narrowed(mode) ?? mode
    }

    /// What the file gets when `shown` is to become `wanted`: the bits that differ are set, and all others stay, which may
    /// be the mask of an access list.
    static func merged(_ wanted: UInt16, over file: UInt16, shownAs shown: UInt16) -> UInt16 {
        let changed = (wanted ^ shown) & ofItems
        return file & ofItems & ~changed | wanted & changed
    }

    /// Setuid and setgid, of a file that belongs to the one for whom they were set. For anybody else they would be the
    /// rights of whoever owns it in the store.
    static func setID(_ given: SetID?, for file: FileStatus) -> UInt16 {
        guard let given, given.owner == file.owner, given.group == file.group else { return 0 }
        return given.bits & setID
    }
}
