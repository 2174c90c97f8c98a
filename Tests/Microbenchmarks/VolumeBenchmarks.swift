import FileProvider
import Glibc
import ItemCatalog
import Trees
import Volume

// The cost of the kernel's requests, beside the system call on the local file system.

/// Requests about names and attributes.
func nameBenchmarks(_ stage: Stage) -> [Benchmark] {
    let (volume, folder) = (stage.volume, stage.folder)
    let count = stage.names.count
    let paths = stage.names.map { stage.native + "/" + $0.string }
    return [
        Benchmark(name: "lookup, and forget", count: count) { _ in
            for name in stage.names {
                let found = stage.now(try volume.lookUp(name, in: folder))!
                volume.forget(found.node, count: 1)
            }
        } native: { _ in
            for path in paths { must(access(path, F_OK)) }
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
            for path in paths { must(lstat(path, &status)) }
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
                        must(fstatat(dirfd(listing), $0, &status, AT_SYMLINK_NOFOLLOW))
                    }
                }
            }
            closedir(listing)
        },
    ]
}

/// Requests about documents that are here.
func documentBenchmarks(_ stage: Stage) throws -> [Benchmark] {
    let (volume, folder, files) = (stage.volume, stage.folder, Documents(stage: stage))
    let here = try files.make("here")
    files.makeNative("here")
    return [
        Benchmark(name: "open for reading, read 16 KiB, close", count: 1_000) { _ in
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Documents.size, alignment: 8)
            defer { buffer.deallocate() }
            for _ in 0..<1_000 {
                let opened = try volume.open(here, flags: O_RDONLY)
                let count = stage.now(try volume.read(opened.handle, into: buffer, at: 0))
                precondition(count == Documents.size)
                volume.close(opened.handle)
            }
        } native: { _ in
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Documents.size, alignment: 8)
            defer { buffer.deallocate() }
            for _ in 0..<1_000 {
                let file = open(stage.native + "/here", O_RDONLY | O_CLOEXEC)
                precondition(read(file, buffer.baseAddress, Documents.size) == Documents.size)
                close(file)
            }
        },
        Benchmark(name: "create, write 16 KiB, flush, close", count: 200) { round in
            for number in 0..<200 { _ = try files.make("new \(round) \(number)") }
        } native: { round in
            for number in 0..<200 { files.makeNative("new \(round) \(number)") }
        },
        Benchmark(name: "save: create, write, fsync, close, rename over", count: 20) { round in
            for number in 0..<20 {
                let name = "saved \(round) \(number)"
                _ = try files.make(name, isSynced: true)
                stage.now(try volume.rename(Filename(name), in: folder, to: "saved", in: folder, noReplace: false))
            }
        } native: { round in
            for number in 0..<20 {
                let name = "saved \(round) \(number)"
                files.makeNative(name, isSynced: true)
                must(rename(stage.native + "/" + name, stage.native + "/saved"))
            }
        },
    ]
}

/// New documents, made as by a program.
private struct Documents {
    static let size = 16_384
    let stage: Stage
    private let bytes = [UInt8](repeating: 7, count: size)

    init(stage: Stage) { self.stage = stage }

    func make(_ name: String, isSynced: Bool = false) throws -> NodeID {
        let volume = stage.volume
        let (found, opened) = stage.now(
            try volume.create(Filename(name), in: stage.folder, mode: 0o644, uid: 0, gid: 0))
        try bytes.withUnsafeBytes { try volume.write(opened.handle, $0, at: 0) }
        if isSynced { try volume.synchronize(opened.handle) }
        try volume.flush(opened.handle)
        volume.close(opened.handle)
        return found.node
    }

    func makeNative(_ name: String, isSynced: Bool = false) {
        let file = open(stage.native + "/" + name, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        must(file)
        precondition(write(file, bytes, bytes.count) == bytes.count)
        if isSynced { must(fsync(file)) }
        close(file)
    }
}

private func must(_ result: Int32) { precondition(result >= 0, "the local file system: errno \(errno)") }
