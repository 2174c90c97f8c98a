import CZip
import FileProvider
import Glibc

/// Unpacks one entry from its start to its end, and holds it to the size that the archive promised.
final class EntryReader {
    /// Kept open for as long as this.
    let archive: ArchiveFile
    let entry: ArchiveEntry
    /// How much of it was read or skipped.
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

    /// Goes there without reading, where that can be. Where it cannot it is not tried: libzip would never read from
    /// this entry again.
    func jump(to offset: Int64) {
        if entry.isStored, offset > position, zip_fseek(file, offset, SEEK_SET) == 0 { position = offset }
    }

    /// The next `count` bytes, all of them. With the last ones comes the proof that nothing follows and that the
    /// checksum is right; before it they are given to nobody.
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
            throw damaged("it ends after \(position + Int64(bytes.count)) bytes of the \(size) that it says")
        }
        position += Int64(count)
        if position == size { try requireEnd() }
        return bytes
    }

    /// Also makes libzip compare the checksum, which it does when it meets the end.
    func requireEnd() throws(FileProviderError) {
        var byte: UInt8 = 0
        switch zip_fread(file, &byte, 1) {
        case 0: break
        case 1...: throw damaged("it goes on after the \(size) bytes that it says")
        default: throw damaged()
        }
    }

    private func damaged(_ what: String? = nil) -> FileProviderError {
        let what = what ?? String(cString: zip_file_strerror(file))
        return FileProviderError(.cannotSynchronize, "\(place): is damaged: \(what); get the archive again")
    }
}
