import CZip
import FileProvider
import Glibc

/// Unpacks one entry from its start to its end, and checks the size that the archive claims.
final class EntryReader {
    /// Keeps the archive open.
    let archive: ArchiveFile
    let entry: ArchiveEntry
    /// The bytes read or skipped so far.
    private(set) var position: Int64 = 0
    private var size: Int64 { entry.size ?? 0 }
    /// For errors: archive and entry.
    private let place: String
    private let file: OpaquePointer

    init(archive: ArchiveFile, file: OpaquePointer, entry: ArchiveEntry, place: String) {
        self.archive = archive
        self.file = file
        self.entry = entry
        self.place = place
    }

    deinit { zip_fclose(file) }

    /// Skips to the offset without reading, where possible. Where it is not, this does not call libzip, which would
    /// never read from the entry again after a failure.
    func jump(to offset: Int64) {
        if entry.isStored, offset > position, zip_fseek(file, offset, SEEK_SET) == 0 { position = offset }
    }

    /// The next `count` bytes, all of them. The last ones are returned only after the check that nothing follows and
    /// that the checksum is right.
    func read(_ count: Int) throws(FileProviderError) -> [UInt8] {
        var failed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let got = zip_fread(file, buffer.baseAddress! + filled, UInt64(count - filled))
                failed = got < 0
                if got <= 0 { break }
                filled += Int(got)
            }
        }
        if failed { throw damaged() }
        guard bytes.count == count else {
            throw damaged("it ends after \(position + Int64(bytes.count)) of its \(size) bytes")
        }
        position += Int64(count)
        if position == size { try requireEnd() }
        return bytes
    }

    /// Also makes libzip compare the checksum, at the end of the entry.
    func requireEnd() throws(FileProviderError) {
        var byte: UInt8 = 0
        switch zip_fread(file, &byte, 1) {
        case 0: break
        case 1...: throw damaged("it goes on after its \(size) bytes")
        default: throw damaged()
        }
    }

    private func damaged(_ what: String? = nil) -> FileProviderError {
        let what = what ?? String(cString: zip_file_strerror(file))
        return FileProviderError(.cannotSynchronize, "\(place): is damaged: \(what); get the archive again")
    }
}
