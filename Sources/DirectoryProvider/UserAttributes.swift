import FileProvider
import Glibc
import Logging
import Surroundings
import Synchronization

/// The extended attributes of the user, xattr(7): those in `user.` except our own.
enum UserAttributes {
    /// Whether an item may have an attribute of this name: not ``Identity/attribute``, which names one file.
    static func isUsers(_ name: String) -> Bool {
        ExtendedAttribute.problem(name: name, value: []) == nil && name != Identity.attribute
    }

    /// The attributes of an item, and the names of those beyond the limit.
    struct Shown {
        var attributes: [String: [UInt8]] = [:]
        var leftOut: [String] = []
    }

    /// As many as fit into `most` bytes of names and values, in the order of their names; a file may have hundreds of
    /// megabytes. At most `most` bytes are read.
    ///
    /// - Returns: nil when one of them may not be read: then the set is unknown.
    static func read(from file: AttributedFile, names: [String], upTo most: Int) -> Shown? {
        var shown = Shown()
        var room = most
        for name in names.filter(isUsers).sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            let left = room - name.utf8.count
            do throws(SystemError) {
                if left < 0 { throw SystemError(number: ERANGE, call: "getxattr") }
                let value = try file.value(of: name, upTo: left)
                shown.attributes[name] = value
                room = left - value.count
            } catch {
                switch error.number {
                case ENODATA: break  // Removed meanwhile.
                case ERANGE: shown.leftOut.append(name)
                default: return nil
                }
            }
        }
        return shown
    }

    /// Changes with names or values. Users who construct a collision hide only their own change of an attribute.
    static func digest(_ attributes: [String: [UInt8]]) -> String {
        var hash = StableHash()
        func take(_ bytes: some Sequence<UInt8>, _ count: Int) {
            hash.add(withUnsafeBytes(of: UInt64(count), Array.init))
            hash.add(bytes)
        }
        for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
            take(name.utf8, name.utf8.count)
            take(value, value.count)
        }
        return hash.text
    }
}

extension Store {
    func keepsAttributes(of entry: Entry) -> Bool {
        keepsAttributes(entry.status, named: entry.name, in: entry.folder)
    }

    /// Sets exactly these user attributes on `file`; all others, and our own, stay as they are. So do those left out of
    /// the item, which the caller does not know.
    ///
    /// An attribute that the file system refuses (no room, too large, not allowed) is logged and left out: an attribute
    /// never blocks a document. Where a value cannot be replaced, the old one stays.
    ///
    /// - Parameter path: for messages.
    func setUserAttributes(_ attributes: [String: [UInt8]], of file: AttributedFile, path: String) {
        let names = ((try? file.names()) ?? []).filter(UserAttributes.isUsers)
        let leftOut = UserAttributes.read(from: file, names: names, upTo: seams.mostAttributeBytes)?.leftOut ?? []
        let there = Set(names)
        let wanted = attributes.filter { UserAttributes.isUsers($0.key) }
        var losses: [String] = []
        for name in there.subtracting(leftOut) where wanted[name] == nil {
            do throws(SystemError) { try file.remove(name) } catch {
                if error.number != ENODATA { losses.append("\(name): \(error)") }
            }
        }
        // The small ones first, so that one that does not fit takes no room from them.
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
            "the store refuses an extended attribute; the item is stored without it",
            metadata: ["item": "\(path)", "attributes": "\(losses.joined(separator: "; "))"])
    }

    /// Copies attributes that were left out of the replaced item to `new`, one at a time. A value that was set here
    /// stays.
    func carryLeftOutAttributes(of old: Entry, to new: Descriptor) {
        guard !old.leftOutAttributes.isEmpty, let descriptor = try? old.folder.openPath(old.name),
            let status = try? descriptor.status(), status.isSameFile(as: old.status)
        else { return }
        let (from, to) = (AttributedFile(descriptor), AttributedFile(new))
        let there = Set((try? to.names()) ?? [])
        var (lost, reason) = (0, "")
        for name in old.leftOutAttributes where !there.contains(name) {
            do throws(SystemError) { try to.set(name, to: from.value(of: name)) } catch {
                if error.number != ENODATA { (lost, reason) = (lost + 1, "\(error)") }
            }
        }
        if lost == 0 { return }
        logger.warning(
            "a replaced document lost extended attributes that are not shown",
            metadata: ["item": "\(old.path)", "lost": "\(lost)", "reason": "\(reason)"])
    }

    /// Logged once for each item.
    func report(leftOut names: [String], of identifier: ItemIdentifier, path: String) {
        let isNew = reportedAttributes.withLock { reported in
            if reported.count >= 10_000 { return false }
            return reported.insert(identifier).inserted
        }
        guard isNew, let first = names.first else { return }
        logger.warning(
            "an item has too many extended attributes: some are not shown, but stay in the store",
            metadata: [
                "item": "\(path)", "leftOut": "\(names.count)", "first": "\(first)",
                "most": "\(seams.mostAttributeBytes) bytes",
            ])
    }

    /// Gives `new` the access list of the document that it replaces, and no other: its folder may have a default list
    /// for new files. A missing list would open the document to its group, and a surplus one to the users that it
    /// names, so both failures are errors. (The `security.` attributes belong to the old bytes.)
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
