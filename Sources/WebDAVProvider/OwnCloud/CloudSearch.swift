package import FileProvider
import HTTPTransport
import XMLStream

extension CloudPlaces {
    /// Asks Nextcloud for items anywhere below a folder.
    ///
    /// - Parameters:
    ///   - scope: the folder, as ``scope`` has it.
    ///   - condition: one of the elements that `D:where` takes, with the prefixes D and O.
    /// - Returns: false: the server cannot search (ownCloud), or not for this.
    ///
    /// Source: RFC 5323; docs.nextcloud.com, developer manual, WebDAV, search.
    @discardableResult
    func search(
        for properties: [DAVProperty], in scope: String, _ condition: String, limit: Int?, _ client: DAVClient,
        _ each: ([DAVResponse]) async throws -> Void
    ) async throws(FileProviderError) -> Bool {
        let most = limit.map { "<D:limit><D:nresults>\($0)</D:nresults></D:limit>" } ?? ""
        let question = """
            <?xml version="1.0" encoding="utf-8"?><D:searchrequest \(DAVProperty.spaces(of: properties))>\
            <D:basicsearch><D:select>\(DAVProperty.list(properties))</D:select><D:from><D:scope>\
            <D:href>\(scope)</D:href><D:depth>infinity</D:depth></D:scope></D:from><D:where>\(condition)</D:where>\(most)\
            </D:basicsearch></D:searchrequest>
            """
        let request = HTTPRequest(
            "SEARCH", service, headers: [("Content-Type", "text/xml; charset=utf-8")],
            body: .bytes(Array(question.utf8)), retries: .always)
        return try await client.transport.exchange(request) { reply in
            guard reply.status == 207 else {
                _ = try? await reply.prefix(64 << 10)
                // The server cannot search; other errors may pass.
                if 400..<500 ~= reply.status || reply.status == 501 { return false }
                throw FileProviderError(.cannotSynchronize, "\(service): the server answers \(reply.status) to SEARCH")
            }
            _ = try await client.read(reply, "\(service)", each)
            return true
        }
    }
}

extension WebDAVProvider: SearchingProvider {
    /// Nextcloud can; ownCloud 10 claims to, and then refuses.
    package var canSearch: Bool {
        probe.traitsIfKnown.map { $0.family == .ownCloud && $0.cloud != nil } ?? false
    }

    package func search(_ search: StoreSearch) async throws(FileProviderError) -> StoreFindings {
        let traits = try await probe.traits()
        let refusal = FileProviderError(.unsupported, "\(root): the server cannot search")
        guard traits.family == .ownCloud, let cloud = traits.cloud, let condition = Self.condition(search) else {
            throw refusal
        }
        let scope = String(root.path.dropFirst(cloud.service.path.count - 1))
        let properties: [DAVProperty] = [.resourceType, .contentLength, .lastModified, .entityTag, .fileID]
        var (findings, count) = ([StoreFinding](), 0)
        let limit = max(search.limit, 1)
        let isAnswered = try await cloud.search(for: properties, in: scope, condition, limit: limit + 1, client) {
            count += $0.count
            for response in $0 {
                if let finding = finding(response, cloud), Self.isOfOneKind(finding, search) {
                    findings.append(finding)
                }
            }
        }
        guard isAnswered else { throw refusal }
        return StoreFindings(Array(findings.prefix(limit)), isComplete: count <= limit)
    }

    /// Nil: it cannot be shown, or is outside the mounted folder.
    private func finding(_ response: DAVResponse, _ cloud: CloudPlaces) -> StoreFinding? {
        guard let resource = try? DAVResource(response, on: cloud.service, named: cloud.service.origin.host),
            let names = resource.location.components(below: root), !names.isEmpty
        else { return nil }
        return StoreFinding(
            path: names.map { Filename(bytes: $0) }, kind: resource.isFolder ? .folder : .document, size: resource.size,
            contentModificationDate: FileTime(seconds: resource.modified),
            identifier: resource.identifier.map { ItemIdentifier($0) })
    }

    /// Nextcloud gives a folder the size of all its contents.
    private static func isOfOneKind(_ finding: StoreFinding, _ search: StoreSearch) -> Bool {
        search.size == nil || finding.kind.isDocument
    }

    /// Nil: too long for a server.
    private static func condition(_ search: StoreSearch) -> String? {
        guard search.hasConditions, search.nameParts.count <= 16, search.filenameExtensions.count <= 128 else {
            return nil
        }
        var all = search.nameParts.map { like("%\(literal($0))%") }
        let endings = search.filenameExtensions.map { like("%.\(literal($0))") }
        if endings.count > 1 { all.append("<D:or>\(endings.joined())</D:or>") } else { all += endings }
        if let size = search.size { all += within(size, "<D:prop><O:size/></D:prop>") }
        if let modified = search.modified { all += within(modified, DAVProperty.list([.lastModified])) }
        return all.count == 1 ? all[0] : "<D:and>\(all.joined())</D:and>"
    }

    private static func like(_ pattern: String) -> String {
        "<D:like><D:prop><D:displayname/></D:prop><D:literal>\(XMLStream.escaped(pattern))</D:literal></D:like>"
    }

    /// A pattern cannot quote % and _: it matches any character instead, and finds too much.
    private static func literal(_ text: String) -> String { String(text.map { "%\\".contains($0) ? "_" : $0 }) }

    private static func within(_ range: ClosedRange<Int64>, _ property: String) -> [String] {
        var bounds: [String] = []
        if range.lowerBound > 0 {
            bounds.append("<D:gte>\(property)<D:literal>\(range.lowerBound)</D:literal></D:gte>")
        }
        if range.upperBound < .max || bounds.isEmpty {
            bounds.append("<D:lte>\(property)<D:literal>\(max(0, range.upperBound))</D:literal></D:lte>")
        }
        return bounds
    }
}
