package import Glibc

/// Names and numbers of the machine's users and groups.
///
/// (getpwuid(3) and the like return memory shared by all threads: simultaneous calls would mix up their results.)
package enum UserNames {
    /// Nil: that number has no name.
    package static func name(of user: uid_t) -> String? {
        found(passwd(), { getpwuid_r(user, $0, $1, $2, $3) }, { String(cString: $0.pw_name) })
    }

    /// Nil: there is no such user.
    package static func number(of user: String) -> uid_t? {
        found(passwd(), { getpwnam_r(user, $0, $1, $2, $3) }, { $0.pw_uid })
    }

    /// Nil: there is no such group.
    package static func number(ofGroup group: String) -> gid_t? {
        found(Glibc.group(), { getgrnam_r(group, $0, $1, $2, $3) }, { $0.gr_gid })
    }

    /// In bytes; a group's entry lists all its members.
    private static let largest = 1 << 24

    private typealias Answer<Entry> = UnsafeMutablePointer<UnsafeMutablePointer<Entry>?>

    private static func found<Entry, Value>(
        _ empty: Entry,
        _ ask: (UnsafeMutablePointer<Entry>, UnsafeMutablePointer<CChar>, Int, Answer<Entry>) -> Int32,
        _ value: (Entry) -> Value
    ) -> Value? {
        var size = 4_096
        while size <= largest {
            var entry = empty
            var result: UnsafeMutablePointer<Entry>?
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            defer { buffer.deallocate() }
            let code = ask(&entry, buffer, size, &result)
            if code == ERANGE {
                size *= 4
            } else if code != EINTR {
                return result.map { value($0.pointee) }
            }
        }
        return nil
    }
}
