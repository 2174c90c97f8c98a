import FileProvider

/// Table `inode`.
let inodeTable = TableColumns<InodeRecord>(
    "inode",
    [
        ColumnGroup("kind", \.kind) { $1.add($0.rawValue) },
        ColumnGroup("mode", \.mode) { $1.add(Int64($0)) },
        ColumnGroup("uid", \.uid) { $1.add(Int64($0)) },
        ColumnGroup("gid", \.gid) { $1.add(Int64($0)) },
        ColumnGroup("nlink", \.linkCount) { $1.add($0) },
        ColumnGroup("size", \.size) { $1.add($0) },
        ColumnGroup("atime", \.accessed) { $1.add($0) },
        ColumnGroup("mtime", \.modified) { $1.add($0) },
        ColumnGroup("ctime", \.changed) { $1.add($0) },
        ColumnGroup("btime", \.born) { $1.add($0) },
        ColumnGroup("target", \.target) { $1.add($0) },
        ColumnGroup("generation", \.generation) { $1.add($0) },
        ColumnGroup("base_size", \.baseSize) { $1.add($0) },
        ColumnGroup("extents", \.extents) { $1.add($0?.blob) },
        ColumnGroup("writing stamp_size stamp_mtime stamp_ctime", \.writing) { mark, bindings in
            let writing: Int64
            var stamp = BackingStamp.none
            switch mark {
            case nil: writing = 0
            case .maybeModified(let seen): (writing, stamp) = (1, seen)
            case .modified: writing = 2
            }
            bindings.add(writing)
            bindings.add(stamp.size)
            bindings.add(stamp.modified)
            bindings.add(stamp.changed)
        },
        ColumnGroup("enumerated", \.isEnumerated) { $1.add($0) },
        ColumnGroup("rdev", \.device) { $1.add(Int64(bitPattern: $0)) },
        ColumnGroup("used", \.used) { $1.add($0.nanoseconds) },
        ColumnGroup("split_from", \.splitFrom) { $1.add($0?.rawValue) },
        ColumnGroup("here", { $0.kind == .document ? $0.bytesPresent : 0 }) { $1.add($0) },
    ])
