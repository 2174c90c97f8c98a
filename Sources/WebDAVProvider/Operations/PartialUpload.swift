import FileProvider
import HTTPTransport
import Hashing
import Logging
import NIOCore
import Surroundings

/// A large document on its way to a server that keeps the part that has arrived: Apache writes a PUT with a
/// Content-Range into the document as the bytes arrive (mod_dav; RFC 9110, 14.5, leaves it to the server).
struct PartialUpload {
    let upload: Upload
    /// The same for the same document from the same machine, so that another attempt finds the part that has arrived;
    /// another for another client, which may send another document to the same place.
    let stage: HTTPLocation
    /// In bytes; a smaller document is quickly sent again.
    static let smallest: Int64 = 1 << 20
    private var contents: any ContentSource { upload.contents }

    init(_ upload: Upload) async throws(FileProviderError) {
        self.upload = upload
        // The beginning only: what follows is sent while it is copied and hashed here, and the last byte comes late.
        let beginning = try await upload.contents.readLocally(at: 0, upTo: Self.beginningSize)
        stage = upload.folder.appending(
            Self.name(upload.location, upload.contents.size, upload.modified, beginning).bytes)
    }

    /// In bytes.
    static let beginningSize = 64 << 10

    static func name(_ location: HTTPLocation, _ size: Int64, _ modified: FileTime, _ beginning: [UInt8]) -> Filename {
        Leftover.uploadName(
            for: """
                \(location.path) \(size) \(modified.seconds).\(modified.subsecond) \
                \(SHA256.hash(data: beginning).hexadecimal) \(Machine.identity)
                """)
    }

    /// - Returns: the server's status.
    func send() async throws(FileProviderError) -> Int {
        var offset: Int64 = 0
        if let found = try await upload.client.resource(stage) {
            if try await isBeginning(found), try await isQuiet(found) {
                offset = found.size
            } else {
                await upload.provider.remove(stage)
            }
        }
        if offset == contents.size { return 204 }
        if offset > 0 {
            upload.provider.logger.debug(
                "an upload goes on", metadata: ["item": "\(upload.place.name)", "offset": "\(offset)"])
            let status = try await send(from: offset)
            // Apache removes the part of a request that was broken off as soon as it has noticed.
            if status != 404, status != 412 { return status }
        }
        return try await send(from: 0)
    }

    private func send(from offset: Int64) async throws(FileProviderError) -> Int {
        // If the part has gone since, only the end of the document would be written.
        let condition = offset > 0 ? [("If-Match", "*")] : []
        let range = "bytes \(offset)-\(contents.size - 1)/\(contents.size)"
        let request = HTTPRequest(
            "PUT", stage,
            headers: condition + [("Content-Range", range), ("Content-Type", "application/octet-stream")],
            body: .content(contents, offset..<contents.size), isTransfer: true)
        return try await upload.client.change(request, in: [stage.folder]).status
    }

    /// Nobody writes it any more. A server may still have bytes of a request that was broken off, perhaps of a version of
    /// the document that a program replaced without changing size, date and beginning (an encrypted volume).
    private func isQuiet(_ found: DAVResource) async throws(FileProviderError) -> Bool {
        do { try await Task.sleep(for: Self.quiet) } catch {
            throw FileProviderError(.cancelled, "“\(upload.place.name)”: the upload was given up")
        }
        let now = try await upload.client.resource(stage)
        return now?.size == found.size && now?.validator == found.validator
    }

    private static let quiet = Duration.seconds(1)

    /// Reads the part again and compares: the server may have died while writing it.
    private func isBeginning(_ found: DAVResource) async throws(FileProviderError) -> Bool {
        guard !found.isFolder, found.size > 0, found.size <= contents.size else { return false }
        let request = HTTPRequest("GET", stage, isTransfer: true, retries: .always)
        let (remote, count) = try await upload.client.transport.exchange(request) { reply in
            guard reply.status == 200 else { return ([UInt8](), Int64(0)) }
            var hash = SHA256()
            var count: Int64 = 0
            for try await buffer in reply.body {
                let bytes = buffer.readableBytesView.prefix(Int(min(Int64(Int.max), found.size - count)))
                hash.update(data: Array(bytes))
                count += Int64(bytes.count)
                if count == found.size { break }
            }
            return (Array(hash.finalize()), count)
        }
        guard count == found.size, let own = try await contents.digest(SHA256.self, first: count) else { return false }
        return Array(own) == remote
    }
}
