import CLinux
import FileProvider
import Glibc

/// Extended attributes, xattr(7), by folder and name; never through a link.
extension Folder {
    /// Nil when it is not there, cannot be read, or the file system has none.
    func attribute(_ key: String, of name: [UInt8]) -> [UInt8]? {
        withName(attributePath(of: name)) { path in
            growing { lgetxattr(path, key, $0, $1) }
        }
    }

    /// Whether the file system of `name` keeps `user.` attributes: what it says when asked for one.
    func keepsAttributes(of name: [UInt8]) -> Bool {
        let result = withName(attributePath(of: name)) { lgetxattr($0, Identity.attribute, nil, 0) }
        return result >= 0 || errno == ENODATA || errno == EACCES
    }

    /// Gives `new` what the document `name` has: the attributes of its user and its access list. Not the
    /// `security.` ones, which speak of the old bytes, nor our own, which names the old file.
    ///
    /// A missing user attribute is the lesser harm, so that is only told; a missing access list would
    /// open the document to its group, so that is an error.
    func copyAttributes(
        of name: [UInt8], to new: Descriptor, onLoss: (String) -> Void
    ) throws(FileProviderError) {
        let path = attributePath(of: name)
        guard let list = withName(path, { path in growing { llistxattr(path, charBuffer($0), $1) } }) else {
            return
        }
        for key in list.split(separator: 0).map({ String(decoding: $0, as: UTF8.self) }) {
            let isAccessList = key == "system.posix_acl_access"
            guard isAccessList || (key.hasPrefix("user.") && key != Identity.attribute),
                let value = attribute(key, of: name)
            else { continue }
            do throws(SystemError) { try new.setAttribute(key, value) } catch {
                if isAccessList { throw FileProviderError(error, path: self.path(of: name)) }
                onLoss("\(key): \(error)")
            }
        }
    }
}

private func charBuffer(_ buffer: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<CChar>? {
    buffer?.assumingMemoryBound(to: CChar.self)
}

/// Calls twice: for the length, then for the bytes; again when they grew in between.
private func growing(_ call: (UnsafeMutableRawPointer?, Int) -> Int) -> [UInt8]? {
    for _ in 0..<8 {
        let length = call(nil, 0)
        if length <= 0 { return length == 0 ? [] : nil }
        var bytes = [UInt8](repeating: 0, count: length)
        let read = bytes.withUnsafeMutableBytes { call($0.baseAddress, length) }
        if read >= 0 { return Array(bytes[..<read]) }
        if errno != ERANGE { return nil }
    }
    return nil
}
