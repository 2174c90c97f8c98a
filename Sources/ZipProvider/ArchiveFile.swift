import CZip
import FileProvider
import Glibc

/// An archive opened by libzip. One thread at a time may use a handle: only ``Archive`` has it.
final class ArchiveFile {
    let path: String
    /// For the open file, whatever file has its name by now.
    let stamp: ArchiveStamp
    private let handle: OpaquePointer

    init(path: String) throws(FileProviderError) {
        self.path = path
        // Without waiting: the name may be a pipe without a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw ArchiveStamp.error(path, errno) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw FileProviderError(.serverUnreachable, "\(path): is not a file; name a ZIP archive")
        }
        stamp = ArchiveStamp(status)
        // libzip takes an empty file for an archive without entries.
        var code = stamp.size == 0 ? ZIP_ER_NOZIP : ZIP_ER_OK
        guard code == ZIP_ER_OK, let handle = zip_fdopen(descriptor, 0, &code) else {
            let problem = Self.problem(code, descriptor)
            close(descriptor)
            throw FileProviderError(.serverUnreachable, "\(path): \(problem)")
        }
        self.handle = handle  // libzip owns the descriptor now.
    }

    /// Does not write to the archive, as zip_close(3) might.
    deinit { zip_discard(handle) }

    private static func problem(_ code: Int32, _ descriptor: Int32) -> String {
        guard code == ZIP_ER_NOZIP || code == ZIP_ER_INCONS else {
            var error = zip_error_t()
            zip_error_init_with_code(&error, code)
            defer { zip_error_fini(&error) }
            return "cannot be opened as a ZIP archive: \(String(cString: zip_error_strerror(&error)))"
        }
        // The central directory is at the end, and so is missing in an archive that is cut off.
        var start = [UInt8](repeating: 0, count: 4)
        guard pread(descriptor, &start, 4, 0) == 4, start == [0x50, 0x4b, 0x03, 0x04] else {
            return "is not a ZIP archive"
        }
        return "begins like a ZIP archive but does not end like one; get it again, as it is cut off or damaged"
    }

    // MARK: Looking

    var count: UInt64 { UInt64(max(0, zip_get_num_entries(handle, 0))) }

    /// nil for an entry that libzip cannot read.
    func entry(at index: UInt64) -> ArchiveEntry? {
        var status = zip_stat_t()
        guard zip_stat_index(handle, index, 0, &status) == 0, status.valid & UInt64(ZIP_STAT_SIZE) != 0,
            let raw = zip_get_name(handle, index, ZIP_FL_ENC_RAW).map(Self.bytes)
        else { return nil }
        var system: UInt8 = 0
        var attributes: UInt32 = 0
        let hasAttributes = zip_file_get_external_attributes(handle, index, 0, &system, &attributes) == 0
        let mode = hasAttributes ? UnixMode(attributes: attributes, system: system) : nil
        let stored = FileTime(seconds: status.valid & UInt64(ZIP_STAT_MTIME) != 0 ? Int64(status.mtime) : 0)
        return ArchiveEntry(
            index: index, name: raw,
            kind: raw.last == UInt8(ascii: "/") ? .folder : mode?.kind ?? .document,
            size: Int64(exactly: status.size), checksum: status.crc, modified: extendedTimestamp(index) ?? stored,
            permissions: mode?.permissions, isStored: status.comp_method == UInt16(ZIP_CM_STORE),
            isEncrypted: status.encryption_method != UInt16(ZIP_EM_NONE))
    }

    private static func bytes(_ text: UnsafePointer<CChar>) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
    }

    private func extendedTimestamp(_ index: UInt64) -> FileTime? {
        var count: UInt16 = 0
        // From the central directory: the copy beside each entry's data would cost a read for each.
        guard
            let field = zip_file_extra_field_get_by_id(
                handle, index, ExtendedTimestamp.identifier, 0, &count, ZIP_FL_CENTRAL)
        else { return nil }
        return ExtendedTimestamp.modified(in: UnsafeBufferPointer(start: field, count: Int(count)))
    }

    // MARK: Reading

    /// A reader at the start of an entry.
    func reader(of entry: ArchiveEntry) throws(FileProviderError) -> EntryReader {
        let place = "\(path): \(entry.shownName)"
        guard let file = zip_fopen_index(handle, entry.index, 0) else {
            let error = zip_get_error(handle)
            let text = String(cString: zip_error_strerror(error))
            if zip_error_code_zip(error) == ZIP_ER_COMPNOTSUPP {
                throw FileProviderError(
                    .unsupported,
                    "\(place): uses an unsupported compression; unpack it with another program")
            }
            throw FileProviderError(.cannotSynchronize, "\(place): cannot be unpacked: \(text); see unzip -t")
        }
        return EntryReader(archive: self, file: file, entry: entry, place: place)
    }
}
