import FileProvider
import HTTPTransport

/// ownCloud and Nextcloud replace a document when a PUT ends, and a MOVE over a document would make another document of
/// it: so contents go to their own place, as one request, or in parts.
extension Upload {
    /// In bytes: larger documents are sent in parts, so that an upload need not begin anew.
    private static let mostAtOnce: Int64 = 10 << 20
    /// The same for a document that is replaced: a PUT that breaks off leaves an empty document there (Nextcloud 34).
    private static let mostOver: Int64 = 256 << 10
    private static let mostAttempts = 4

    func replaceAtOnce(_ identifier: ItemIdentifier, _ base: Validator) async throws(FileProviderError) -> Item? {
        let checksum = try await ContentChecksum.of(contents, place.name)
        for _ in 0..<Self.mostAttempts {
            guard let current = try await client.resource(location),
                let item = try await provider.item(identifier, current)
            else { return nil }
            guard !current.isFolder else { throw provider.mismatch(item) }
            guard current.validator.isOfSameContents(as: base) else {
                // An earlier attempt succeeded, but its answer was lost.
                if current.size == contents.size, current.validator.checksum == checksum { return item }
                throw provider.mismatch(item)
            }
            let base = current.validator
            // The server makes the tag from the date: the new date must differ from the old one.
            let isAlike = current.modified == modified.seconds
            let date = modified.seconds + (isAlike ? 1 : 0)
            let outcome = try await sendIfItFits(date, checksum, base)
            if outcome.isSuccess {
                return try await check(identifier, checksum, base)
            }
            // 412: look again. 423: another client is writing.
            guard outcome.status == 412 else {
                throw await provider.refusal(outcome.status, place.name, at: location)
            }
            try await pause()
        }
        throw provider.refusal(412, place.name)
    }

    func createAtOnce() async throws(FileProviderError) -> Item {
        try provider.checkRules(place.name)
        let checksum = try await ContentChecksum.of(contents, place.name)
        // Before sending much: an earlier attempt may have succeeded, and only its answer was lost.
        if contents.size > Self.mostAtOnce, let found = try await client.resource(location) {
            guard found.size == contents.size, found.validator.checksum == checksum else {
                throw try await provider.collision(place, location)
            }
            return WebDAVProvider.item(try await provider.identifier(of: found, at: place), place, found)
        }
        let outcome = try await sendIfItFits(modified.seconds, checksum, nil)
        guard outcome.isSuccess else {
            try await provider.checkFolder(place.parent, folder)
            if try await provider.isTaken(location) { throw try await provider.collision(place, location) }
            throw provider.refusal(outcome.status, place.name)
        }
        let resource = try await there()
        // The server checks conditions before the bytes arrive: of two simultaneous uploads, it may take both, one over
        // the other.
        guard resource.size == contents.size, resource.validator.checksum == checksum else {
            throw try await provider.collision(place, location)
        }
        let identifier = try await provider.identifier(of: resource, at: place)
        return WebDAVProvider.item(identifier, place, resource)
    }

    /// A server without room may say so and close the connection while the bytes are still on their way: its answer is
    /// then lost.
    private func sendIfItFits(
        _ date: Int64, _ checksum: String, _ base: Validator?
    ) async throws(FileProviderError) -> DAVClient.Outcome {
        do throws(FileProviderError) { return try await send(date, checksum, base) } catch {
            guard error.code == .serverUnreachable, let quota = try? await provider.quota(), let total = quota.total,
                total - quota.used < contents.size
            else { throw error }
            throw FileProviderError(
                .insufficientQuota,
                "“\(place.name)”: has \(contents.size) bytes, and the server has room for \(max(0, total - quota.used))"
            )
        }
    }

    private func send(
        _ date: Int64, _ checksum: String, _ base: Validator?
    ) async throws(FileProviderError) -> DAVClient.Outcome {
        var headers = [("OC-Checksum", checksum)]
        // Nextcloud 34 answers 500 to a date of the first day of 1970, but has taken the document.
        if date > 86_400 { headers.append(("X-OC-Mtime", "\(date)")) }
        if contents.size > (base == nil ? Self.mostAtOnce : Self.mostOver), let cloud = traits.cloud {
            // (If-Match would be about the source of the move.)
            let condition = base.map { $0.condition(at: location) } ?? ("Overwrite", "F")
            let upload = ChunkedUpload(
                client: client, uploads: cloud.uploads, contents: contents, target: location, name: place.name,
                headers: headers + [condition].compactMap { $0 }, checksum: checksum, logger: provider.logger)
            let outcome = try await upload.run()
            if outcome.status != 404 { return outcome }
        }
        headers += [base?.condition ?? ("If-None-Match", "*"), ("Content-Type", "application/octet-stream")]
        return try await client.send(
            HTTPRequest(
                "PUT", location, headers: headers, body: .content(contents, 0..<contents.size), isTransfer: true))
    }

    /// - Returns: the current item, if it has the sent contents.
    private func check(
        _ identifier: ItemIdentifier, _ checksum: String, _ base: Validator
    ) async throws(FileProviderError) -> Item {
        let resource = try await there { $0.validator != base }
        guard let item = try await provider.item(identifier, resource) else { throw provider.gone(identifier) }
        guard resource.size == contents.size, resource.validator.checksum == checksum else {
            throw provider.mismatch(item)
        }
        return item
    }
}
