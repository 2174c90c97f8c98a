import Foundation

extension MountedStore {
    /// Name patterns of files that stay on this machine, as listed on the page *The file system*.
    static let excludedNames = [
        "*~", "#*#", ".*.sw?", ".sw?", ".#*", ".~lock.*#", "~$*", "~*.tmp", ".goutputstream-*", "lu[0-9]*.tmp",
        ".fuse_hidden*", ".nfs*", ".Trash-*", ".DS_Store", "Thumbs.db", "*-journal", "*-wal", "*-shm",
    ]

    /// Throws unless the directory of the store equals the mount, byte for byte: every name, type, byte, link target,
    /// permission, date of a document and user attribute. Files that stay on this machine by the documentation are
    /// ignored: excluded names, further hard links, pipes, sockets, devices.
    ///
    /// - Parameter attributesMayBeRefused: the store's disk may have had no room for all of a document's attributes.
    package func requireSameTree(attributesMayBeRefused: Bool = false, limit: Double = 60) throws {
        let result = try sandbox.run(
            ["python3", "-c", Self.comparison, mountPoint, store, attributesMayBeRefused ? "some" : "all"]
                + Self.excludedNames, limit: limit)
        guard result.succeeded else { throw HarnessError("mount and store are not the same: \(result)") }
    }

    /// Evicts everything, and waits until no bytes that the store has are here.
    package func evictAll(limit: Double = 30) throws {
        var left = ""
        do {
            try waitUntil(limit, "everything is evicted") {
                let evicted = try hydrant(["evict", mountPoint])
                left = evicted.stdout + evicted.stderr + (try python(Self.whatIsHere))
                return !left.contains("state:")
            }
        } catch { throw HarnessError("\(error); here is: \(left)") }
    }

    private static let whatIsHere = """
        for folder, _, names in os.walk(b"."):
            for name in names:
                path = os.path.join(folder, name)
                status = os.lstat(path)
                if not stat.S_ISREG(status.st_mode) or status.st_size == 0: continue
                state = os.getxattr(path, "user.hydrant.state").decode()
                if not state.startswith("placeholder") and "excluded" not in state: print("state:", path, state)
        """

    private static let comparison = #"""
        import fnmatch, os, stat, sys
        MOUNT, STORE = (os.fsencode(path) for path in sys.argv[1:3])
        EXCLUDED = [os.fsencode(pattern) for pattern in sys.argv[4:]]

        def is_excluded(path):
            return any(fnmatch.fnmatchcase(name, pattern) for name in path.split(b"/") for pattern in EXCLUDED)

        def tree(root):
            found, waiting = {}, [b""]
            while waiting:
                folder = waiting.pop()
                for name in os.listdir(os.path.join(root, folder)):
                    path = os.path.join(folder, name)
                    found[path] = os.lstat(os.path.join(root, path))
                    if stat.S_ISDIR(found[path].st_mode): waiting.append(path)
            return found

        def attributes(path):
            return {name: os.getxattr(path, name) for name in os.listxattr(path)
                if name.startswith("user.") and not name.startswith("user.hydrant.")}

        def differing_byte(path):
            with open(os.path.join(MOUNT, path), "rb") as one, open(os.path.join(STORE, path), "rb") as other:
                offset = 0
                while True:
                    a, b = one.read(1 << 20), other.read(1 << 20)
                    if a != b: return offset + next((n for n, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
                    if not a: return None
                    offset += len(a)

        def difference(path, here, there):
            both = [os.path.join(root, path) for root in (MOUNT, STORE)]
            if stat.S_IFMT(here.st_mode) != stat.S_IFMT(there.st_mode): return "another type"
            if stat.S_ISLNK(here.st_mode):
                ours, theirs = map(os.readlink, both)
                return None if ours == theirs else "leads to %r here, to %r there" % (ours, theirs)
            if not stat.S_ISREG(here.st_mode): return None
            if here.st_size != there.st_size: return "%d bytes here, %d there" % (here.st_size, there.st_size)
            wrong = differing_byte(path)
            if wrong is not None: return "another byte at %d of %d" % (wrong, here.st_size)
            if (here.st_mode ^ there.st_mode) & 0o777: return "mode %o here, %o there" % (here.st_mode, there.st_mode)
            if here.st_mtime_ns != there.st_mtime_ns: return "of %d here, of %d there" % (here.st_mtime_ns, there.st_mtime_ns)
            ours, theirs = map(attributes, both)
            if sys.argv[3] == "some": ours = {name: ours.get(name) for name in theirs}
            return None if ours == theirs else "attributes %.200r here, %.200r there" % (ours, theirs)

        here, there = tree(MOUNT), tree(STORE)
        there = {path: there[path] for path in there if not fnmatch.fnmatchcase(os.path.basename(path), b".hydrant-*.tmp")}
        stored = {here[path].st_ino for path in here if path in there}
        problems = ["%r: only in the store" % path for path in there if path not in here]
        for path, status in here.items():
            is_kept = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) or stat.S_ISLNK(status.st_mode)
            is_second_name = not stat.S_ISDIR(status.st_mode) and status.st_nlink > 1 and status.st_ino in stored
            if path in there:
                wrong = difference(path, status, there[path])
                if wrong: problems.append("%r: %s" % (path, wrong))
            elif is_kept and not is_second_name and not is_excluded(path):
                problems.append("%r: only in the mount" % path)
        for problem in sorted(problems)[:20]: print(problem)
        sys.exit(1 if problems else 0)
        """#
}
