import FileProvider

/// Rules for providers that are ``FileProvider/ChangeEnumerating``.
extension ConformanceSuite {
    static let anchorRules: [ConformanceRule] = [
        ConformanceRule(1101, "Items made, changed or renamed since an anchor are returned, as they are now.") { it in
            let feed = try await ChangeFeed(it)
            let (first, second) = (try await it.makeDocument("first"), try await it.makeDocument("second"))
            _ = try await it.makeDocument("bystander")
            let anchor = try await feed.now()
            var right = [try await it.makeDocument("third"), try await it.change(first, to: [1, 2, 3])]
            right.append(
                try await it.provider.moveItem(
                    second.identifier, to: it.folder, as: "renamed", baseVersion: second.version))
            let changes = try await feed.changes(since: anchor)
            for item in right {
                guard let reported = changes.updated[item.identifier] else {
                    throw RuleFailure("\(item.filename) is missing")
                }
                try it.requireSame(
                    reported, try await it.placeholder(item), "\(item.filename) as returned", "its placeholder")
            }
        },
        ConformanceRule(1102, "Items deleted since an anchor are returned.") { it in
            let feed = try await ChangeFeed(it)
            let (item, folder) = (try await it.makeDocument(), try await it.makeFolder("folder"))
            let anchor = try await feed.now()
            for item in [item, folder] {
                try await it.provider.deleteItem(item.identifier, baseVersion: item.version)
            }
            let changes = try await feed.changes(since: anchor)
            for item in [item, folder] {
                try it.require(
                    changes.deleted.contains(item.identifier), "the deletion of \(item.filename) is missing")
            }
        },
        ConformanceRule(1103, "The anchor that comes with a change does not return the change again.") { it in
            let feed = try await ChangeFeed(it)
            let anchor = try await feed.now()
            let item = try await it.makeDocument()
            let changes = try await feed.changes(since: anchor)
            let rest = try await feed.changes(since: changes.anchor)
            try it.require(rest.updated[item.identifier] == nil, "\(item.filename) is returned a second time")
        },
        ConformanceRule(1104, "Many changes are all returned, on as many pages as needed.") { it in
            let feed = try await ChangeFeed(it)
            let anchor = try await feed.now()
            var made: [Item] = []
            for index in 0..<30 { made.append(try await it.makeDocument(Filename("document-\(index)"))) }
            let changes = try await feed.changes(since: anchor)
            let missing = made.filter { changes.updated[$0.identifier] == nil }
            try it.require(missing.isEmpty, "\(missing.map(\.filename)) are missing")
        },
        ConformanceRule(1105, "Two calls from one anchor return the same changes.") { it in
            let feed = try await ChangeFeed(it)
            let anchor = try await feed.now()
            let item = try await it.makeDocument()
            for time in ["first", "second"] {
                let changes = try await feed.changes(since: anchor)
                try it.require(
                    changes.updated[item.identifier] != nil, "\(item.filename) is missing the \(time) time")
            }
        },
        ConformanceRule(1106, "An anchor that the store never gave is refused as expired.") { it in
            let feed = try await ChangeFeed(it)
            try await it.requireError(.syncAnchorExpired, from: "the changes since an anchor that was never given") {
                _ = try await feed.provider.enumerateChanges(from: SyncAnchor("hydrant-conformance-no-such-anchor"))
            }
        },
        ConformanceRule(1107, "An anchor has at most 64 KiB.") { it in
            let feed = try await ChangeFeed(it)
            let anchor = try await feed.now()
            _ = try await it.makeDocument()
            for anchor in [anchor, try await feed.changes(since: anchor).anchor] {
                try it.require(anchor.bytes.count <= 64 << 10, "it has \(anchor.bytes.count) bytes")
            }
        },
        ConformanceRule(1108, "Changes of the other client since an anchor are returned.") { it in
            let other = try it.needOtherClient()
            let feed = try await ChangeFeed(it)
            let item = try await it.makeDocument()
            let anchor = try await feed.now()
            _ = try await it.change(item, to: ConformanceContext.testBytes(100), client: other)
            let changes = try await feed.changes(since: anchor)
            try it.require(changes.updated[item.identifier] != nil, "\(item.filename) is missing")
        },
    ]
}

/// The changes that a provider enumerates, over all pages.
private struct ChangeFeed {
    struct Changes {
        var updated: [ItemIdentifier: Item] = [:]
        var deleted: Set<ItemIdentifier> = []
        var anchor: SyncAnchor
    }
    let provider: any ChangeEnumerating

    /// Skips where the provider cannot list changes.
    init(_ it: ConformanceContext) async throws {
        guard let provider = it.abilities.changes else {
            throw RuleSkip("the provider does not list changes since an anchor")
        }
        self.provider = provider
        try await unlessUnsupported("the provider does not list changes since an anchor") {
            _ = try await provider.currentSyncAnchor()
        }
    }

    func now() async throws -> SyncAnchor { try await provider.currentSyncAnchor() }

    func changes(since anchor: SyncAnchor) async throws -> Changes {
        var changes = Changes(anchor: anchor)
        var seen: Set<SyncAnchor> = [anchor]
        while true {
            let page = try await provider.enumerateChanges(from: changes.anchor)
            for item in page.updated {
                changes.updated[item.identifier] = item
                changes.deleted.remove(item.identifier)
            }
            for identifier in page.deleted {
                changes.updated[identifier] = nil
                changes.deleted.insert(identifier)
            }
            changes.anchor = page.anchor
            if !page.hasMore { return changes }
            guard seen.insert(page.anchor).inserted else {
                throw RuleFailure("the changes are endless: an anchor came twice with more to come")
            }
            try Task.checkCancellation()
        }
    }
}
