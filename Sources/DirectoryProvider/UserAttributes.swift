import FileProvider
import Glibc
import Logging

/// The extended attributes that belong to the user, xattr(7): those in `user.` but our own.
enum UserAttributes {
    /// Whether the name is one that an item has. Never ``Identity/attribute``, which names one file.
    static func isUsers(_ name: String) -> Bool {
        ExtendedAttribute.problem(name: name, value: []) == nil && name != Identity.attribute
    }

    /// Nil when one of them may not be read: then nothing can be said of any.
    static func read(from file: AttributedFile, names: [String]) -> [String: [UInt8]]? {
        var attributes: [String: [UInt8]] = [:]
        for name in names where isUsers(name) {
            do throws(SystemError) { attributes[name] = try file.value(of: name) } catch {
                // Removed meanwhile.
                if error.number != ENODATA { return nil }
            }
        }
        return attributes
    }

    /// Another one for other names or values. FNV-1a: whoever looks for two with the same hides a change of
    /// an attribute from himself.
    static func digest(_ attributes: [String: [UInt8]]) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        func take(_ bytes: some Sequence<UInt8>, _ count: Int) {
            for byte in withUnsafeBytes(of: UInt64(count), Array.init) { add(byte) }
            for byte in bytes { add(byte) }
        }
        func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
            take(name.utf8, name.utf8.count)
            take(value, value.count)
        }
        return String(hash, radix: 16)
    }
}

extension Store {
    func keepsAttributes(of entry: Entry) -> Bool {
        keepsAttributes(entry.status, named: entry.name, in: entry.folder)
    }

    /// Gives `file` exactly these attributes of the user; all others, and our own, stay as they are.
    ///
    /// One that the file system does not take (no room, too large, not allowed) is told and left out: no
    /// document may be kept from the store by an attribute. Where a value cannot be replaced, the old one
    /// stays.
    ///
    /// - Parameter path: for people.
    func setUserAttributes(_ attributes: [String: [UInt8]], of file: AttributedFile, path: String) {
        let there = Set((try? file.names()) ?? []).filter(UserAttributes.isUsers)
        let wanted = attributes.filter { UserAttributes.isUsers($0.key) }
        var losses: [String] = []
        for name in there where wanted[name] == nil {
            do throws(SystemError) { try file.remove(name) } catch {
                if error.number != ENODATA { losses.append("\(name): \(error)") }
            }
        }
        // The small ones first, so that one for which there is no room takes none from them.
        for (name, value) in wanted.sorted(by: { ($0.value.count, $0.key) < ($1.value.count, $1.key) }) {
            if there.contains(name), (try? file.value(of: name)) == value { continue }
            do throws(SystemError) {
                if let number = seams.attributeRefusal?(name) { throw SystemError(number: number, call: "setxattr") }
                try file.set(name, to: value)
            } catch {
                losses.append("\(name) (\(value.count) bytes): \(error)")
            }
        }
        if losses.isEmpty { return }
        logger.warning(
            "the store did not take an extended attribute; the item goes there without it",
            metadata: ["item": "\(path)", "attributes": "\(losses.joined(separator: "; "))"])
    }

    /// Gives `new` the access list of the document that it replaces, and no other: its folder may have one for what is
    /// made in it. A missing one would open the document to its group, and one too many to whom it names, so both are an
    /// error. (The `security.` attributes speak of the old bytes.)
    func setAccessList(of old: Entry, to new: Descriptor, isOfSameGroup: Bool) throws(FileProviderError) {
        let file = AttributedFile(new)
        try naming(old.path) { () throws(SystemError) in
            guard let list = old.accessList else {
                do throws(SystemError) { try file.remove(AccessList.attribute) } catch {
                    if ![ENODATA, EOPNOTSUPP].contains(error.number) { throw error }
                }
                return
            }
            let kept = isOfSameGroup ? list : list.ownedByAnotherGroup(old.status.permissions)
            try file.set(AccessList.attribute, to: kept.bytes)
        }
    }
}
