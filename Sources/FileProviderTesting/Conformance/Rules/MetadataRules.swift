import FileProvider

extension ConformanceSuite {
    static let metadataRules: [ConformanceRule] = [
        ConformanceRule(901, "An update of metadata sets the metadata and keeps the contents.") { it in
            let provider = try metadataProvider(it)
            let bytes = ConformanceContext.testBytes(100)
            let item = try await it.makeDocument("document", bytes)
            let date = FileTime(seconds: 1_600_000_000)
            let updated = try await provider.updateMetadata(
                item.identifier, to: ItemMetadata(contentModificationDate: date, posixPermissions: 0o640),
                baseVersion: item.version)
            try it.require(
                updated.contentModificationDate.seconds == date.seconds,
                "the date is \(updated.contentModificationDate.seconds) s, not \(date.seconds) s")
            if let permissions = updated.posixPermissions {
                try it.require(permissions == 0o640, "the permissions are \(String(permissions, radix: 8)), not 640")
            }
            try await it.requireContents(updated, are: bytes)
        },
        ConformanceRule(902, "An update of metadata returns the same item as a fresh placeholder.") { it in
            let provider = try metadataProvider(it)
            let item = try await it.makeDocument()
            let metadata = ItemMetadata(contentModificationDate: FileTime(seconds: 1_600_000_000))
            try await it.requireIsCurrent(
                try await provider.updateMetadata(item.identifier, to: metadata, baseVersion: item.version))
        },
        ConformanceRule(903, "An update of a deleted item's metadata is refused.") { it in
            let provider = try metadataProvider(it)
            let item = try await it.makeDocument()
            try await it.provider.deleteItem(item.identifier, baseVersion: item.version)
            try await it.requireError(.noSuchItem, from: "an update of a deleted document's metadata") {
                _ = try await provider.updateMetadata(
                    item.identifier, to: ItemMetadata(contentModificationDate: ConformanceContext.date),
                    baseVersion: item.version)
            }
        },
        ConformanceRule(904, "Changes of the other client are signalled.") { it in
            guard let provider = it.abilities.signals else {
                throw RuleSkip("the provider sends no signals")
            }
            let other = try it.needOtherClient()
            guard !(other as AnyObject === it.provider as AnyObject) else {
                throw RuleSkip("the second client is the first: its changes need not be signalled")
            }
            let item = try await it.makeDocument()
            let signals = provider.changeSignals()
            let folder = it.folder
            let hasEnded = Memo(false)
            let listener = Task {
                for await signal in signals {
                    if [.everything, .folder(folder), .item(item.identifier)].contains(signal) { return true }
                }
                hasEnded { $0 = true }
                return false
            }
            defer { listener.cancel() }
            if let connection = it.abilities.connection {
                let patience = it.patience
                let late: @Sendable () -> any Error = {
                    RuleSkip("the connection for signals was not up within \(patience)")
                }
                try await withTimeLimit(patience, error: late) {
                    while !connection.isSignaling {
                        if hasEnded({ $0 }) { throw RuleSkip("the store offers no connection for signals") }
                        try await Task.sleep(for: .milliseconds(20))
                    }
                }
            }
            _ = try await it.change(item, to: ConformanceContext.testBytes(10), client: other)
            let late: @Sendable () -> any Error = { RuleFailure("no signal came within \(it.patience)") }
            let heard = try await withTimeLimit(it.patience, error: late) { await listener.value }
            try it.require(heard, "the stream of signals has ended by itself")
        },
        ConformanceRule(905, "The stream of signals ends when its consumer is cancelled.") { it in
            guard let provider = it.abilities.signals else {
                throw RuleSkip("the provider sends no signals")
            }
            let signals = provider.changeSignals()
            let began = Gate()
            let listener = Task {
                began.open()
                for await _ in signals {}
            }
            try await began.pass()
            // The consumer must be waiting for a signal when it is cancelled.
            try await Task.sleep(for: .milliseconds(20))
            listener.cancel()
            let late: @Sendable () -> any Error = {
                RuleFailure("it had not ended \(it.patience) after the cancellation")
            }
            try await withTimeLimit(it.patience, error: late) { await listener.value }
        },
        ConformanceRule(906, "stopProvidingItem changes nothing, also for a deleted document.") { it in
            let bytes = ConformanceContext.testBytes(10)
            let item = try await it.makeDocument("document", bytes)
            _ = await it.provider.stopProvidingItem(item.identifier)
            try await it.requireUnchanged(item, bytes, after: "stopProvidingItem")
            try await it.provider.deleteItem(item.identifier, baseVersion: item.version)
            _ = await it.provider.stopProvidingItem(item.identifier)
            try await it.requireGone(item)
        },
    ]

    static func metadataProvider(_ it: ConformanceContext) throws -> any MetadataUpdating {
        guard let provider = it.abilities.metadata else {
            throw RuleSkip("the provider does not set metadata without contents")
        }
        return provider
    }
}
