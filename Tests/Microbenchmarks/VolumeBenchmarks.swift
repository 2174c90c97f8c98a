import FileProvider
import Glibc
import ItemCatalog
import Volume

/// What a request of the kernel costs us, beside the system call on the local file system.
func volumeBenchmarks(_ stage: Stage) throws -> [Benchmark] {
    let (volume, folder) = (stage.volume, stage.folder)
    let count = stage.names.count
    let paths = stage.names.map { stage.native + "/" + $0.string }
    func check(_ result: Int32) { precondition(result >= 0, "the local file system: errno \(errno)") }

    // Here, so that opening it asks nobody.
    let here = try stage.now(volume.create("here", in: folder, mode: 0o644, uid: 0, gid: 0))
    _ = try [UInt8](repeating: 7, count: 16_384).withUnsafeBytes { try volume.write(here.1.handle, $0, at: 0) }
    try volume.flush(here.1.handle)
    volume.close(here.1.handle)
    volume.endWritingNow()

    return [
        Benchmark(name: "lookup, and forget", count: count) { _ in
            for name in stage.names {
                let found = stage.now(try volume.lookUp(name, in: folder))!
                volume.forget(found.node, count: 1)
            }
        } native: { _ in
            for path in paths { check(access(path, F_OK)) }
        },
        Benchmark(name: "lookup of a name that is not there", count: 1_000) { _ in
            for _ in 0..<1_000 {
                let found = stage.now(try volume.lookUp("missing", in: folder))
                precondition(found == nil)
            }
        } native: { _ in
            for _ in 0..<1_000 { precondition(access(stage.native + "/missing", F_OK) < 0) }
        },
        Benchmark(name: "getattr", count: count) { _ in
            for node in stage.nodes { _ = try volume.attributes(of: node) }
        } native: { _ in
            var status = stat()
            for path in paths { check(lstat(path, &status)) }
        },
        Benchmark(name: "readdirplus, an entry", count: count) { _ in
            var cookie: Int64 = 0
            while true {
                let entries = try volume.entries(of: folder, after: cookie, limit: 128)
                guard let last = entries.last else { break }
                for entry in entries {
                    let found = volume.reference(entry.inode)
                    volume.forget(found.node, count: 1)
                }
                cookie = last.cookie
            }
        } native: { _ in
            let listing = opendir(stage.native)!
            var status = stat()
            while let entry = readdir(listing) {
                withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) {
                        _ = fstatat(dirfd(listing), $0, &status, AT_SYMLINK_NOFOLLOW)
                    }
                }
            }
            closedir(listing)
        },
        Benchmark(name: "open for reading, read 16 KiB, close", count: 1_000) { _ in
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 8)
            defer { buffer.deallocate() }
            for _ in 0..<1_000 {
                let opened = try volume.open(here.0.node, flags: O_RDONLY)
                let count = stage.now(try volume.read(opened.handle, into: buffer, at: 0))
                precondition(count == 16_384)
                volume.close(opened.handle)
            }
        } native: { _ in
            try nativeFile(stage, "here", 1_000, O_RDONLY) { precondition(read($0, $1.baseAddress, 16_384) == 16_384) }
        },
        Benchmark(name: "create, write 16 KiB, flush, close", count: 200) { round in
            let bytes = [UInt8](repeating: 7, count: 16_384)
            for number in 0..<200 {
                let name = Filename("new \(round) \(number)")
                let (_, opened) = stage.now(try volume.create(name, in: folder, mode: 0o644, uid: 0, gid: 0))
                try bytes.withUnsafeBytes { try volume.write(opened.handle, $0, at: 0) }
                try volume.flush(opened.handle)
                volume.close(opened.handle)
            }
        } native: { round in
            for number in 0..<200 {
                try nativeFile(stage, "new \(round) \(number)", 1, O_RDWR | O_CREAT) {
                    precondition(write($0, $1.baseAddress, 16_384) == 16_384)
                }
            }
        },
        Benchmark(name: "save: create, write, fsync, close, rename over", count: 20) { round in
            let bytes = [UInt8](repeating: 7, count: 16_384)
            for number in 0..<20 {
                let name = Filename("saved \(round) \(number)")
                let (_, opened) = stage.now(try volume.create(name, in: folder, mode: 0o644, uid: 0, gid: 0))
                try bytes.withUnsafeBytes { try volume.write(opened.handle, $0, at: 0) }
                try volume.synchronize(opened.handle)
                try volume.flush(opened.handle)
                volume.close(opened.handle)
                stage.now(try volume.rename(name, in: folder, to: "saved", in: folder, noReplace: false))
            }
        } native: { round in
            for number in 0..<20 {
                let name = "saved \(round) \(number)"
                try nativeFile(stage, name, 1, O_RDWR | O_CREAT) {
                    precondition(write($0, $1.baseAddress, 16_384) == 16_384)
                    check(fsync($0))
                }
                check(rename(stage.native + "/" + name, stage.native + "/saved"))
            }
        },
    ]
}

private func nativeFile(
    _ stage: Stage, _ name: String, _ times: Int, _ flags: Int32,
    _ body: (Int32, UnsafeMutableRawBufferPointer) -> Void
) throws {
    let path = stage.native + "/" + name
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 8)
    defer { buffer.deallocate() }
    if flags & O_CREAT == 0, access(path, F_OK) != 0 {
        let file = open(path, O_RDWR | O_CREAT, 0o644)
        precondition(write(file, buffer.baseAddress, 16_384) == 16_384)
        close(file)
    }
    for _ in 0..<times {
        let file = open(path, flags | O_CLOEXEC, 0o644)
        precondition(file >= 0, "\(path): errno \(errno)")
        body(file, buffer)
        close(file)
    }
}
