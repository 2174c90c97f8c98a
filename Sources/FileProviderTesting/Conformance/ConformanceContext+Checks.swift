import FileProvider
import Foundation

// Checks that rules make.
extension ConformanceContext {
    func require(_ condition: Bool, _ reason: @autoclosure () -> String) throws {
        if !condition { throw RuleFailure(reason()) }
    }

    /// Requires that `body` fails with one of these codes; returns its error.
    @discardableResult
    func requireError(
        _ codes: FileProviderError.Code..., from what: String,
        _ body: () async throws -> Void
    ) async throws -> FileProviderError {
        do {
            try await body()
        } catch let error as FileProviderError {
            if codes.isEmpty || codes.contains(error.code) { return error }
            throw RuleFailure("\(what) should fail with \(codes.map(\.description)), but: \(error)")
        }
        throw RuleFailure("\(what) should fail\(codes.isEmpty ? "" : " with \(codes[0])"), but succeeded")
    }

    /// Compares with memcmp: a comparison byte by byte is slow in a debug build.
    static func areSame(_ a: [UInt8], _ b: ArraySlice<UInt8>) -> Bool {
        guard a.count == b.count else { return false }
        return a.withUnsafeBytes { a in
            b.withUnsafeBytes { b in
                guard let first = a.baseAddress, let second = b.baseAddress else { return true }
                return memcmp(first, second, a.count) == 0
            }
        }
    }

    /// Requires that two descriptions of one item agree.
    func requireSame(_ a: Item, _ b: Item, _ aName: String, _ bName: String) throws {
        var differences: [String] = []
        func compare<Value: Equatable>(_ name: String, _ key: KeyPath<Item, Value>) {
            let (a, b) = (a[keyPath: key], b[keyPath: key])
            if a != b { differences.append("\(name) \(a) and \(b)") }
        }
        compare("identifier", \.identifier)
        compare("parent", \.parentIdentifier)
        compare("name", \.filename)
        compare("kind", \.kind)
        compare("size", \.size)
        compare("modification date", \.contentModificationDate)
        compare("creation date", \.creationDate)
        compare("permissions", \.posixPermissions)
        compare("extended attributes", \.extendedAttributes)
        compare("capabilities", \.capabilities)
        compare("favourite", \.isFavorite)
        compare("tags", \.tags)
        compare("content version", \.version.content)
        compare("metadata version", \.version.metadata)
        try require(
            differences.isEmpty, "\(aName) and \(bName) differ: \(differences.joined(separator: "; "))")
    }

    /// Requires that the returned item equals the placeholder that the provider gives now.
    func requireIsCurrent(_ returned: Item) async throws {
        try requireSame(returned, try await placeholder(returned), "the returned item", "a fresh placeholder")
    }

    /// Requires that an error about a conflict carries the current item.
    func requireItem(of error: FileProviderError, isCurrent item: Item) async throws {
        guard let carried = error.item else {
            throw RuleFailure("the error \(error.code) does not carry the current item")
        }
        try requireSame(carried, try await placeholder(item), "the error's item", "a fresh placeholder")
    }

    /// Requires that the item and its bytes have not changed.
    func requireUnchanged(_ item: Item, _ bytes: [UInt8], after what: String) async throws {
        let now = try await placeholder(item)
        try requireSame(item, now, "the item before \(what)", "the one after it")
        try require(Self.areSame(try await self.bytes(of: now), bytes[...]), "the contents have changed with \(what)")
    }

    func requireContents(_ item: Item, are bytes: [UInt8]) async throws {
        let current = try await placeholder(item)
        try require(
            current.size == Int64(bytes.count), "the size is \(current.size) where \(bytes.count) is right")
        let found = try await self.bytes(of: current)
        if Self.areSame(found, bytes[...]) { return }
        let index = zip(found, bytes).enumerated().first { $1.0 != $1.1 }?.offset ?? min(found.count, bytes.count)
        throw RuleFailure("the contents are wrong from byte \(index) on")
    }

    /// Requires that the folder has these names, in any order.
    func requireNames(_ names: Filename..., in folder: ItemIdentifier? = nil, after what: String) async throws {
        try await requireNames(names, in: folder, after: what)
    }

    /// Requires that the folder has these names, in any order.
    func requireNames(_ names: [Filename], in folder: ItemIdentifier? = nil, after what: String) async throws {
        let found = try await items(in: folder).map(\.filename).sorted()
        try require(
            found == names.sorted(), "after \(what) the folder has \(found), not \(names.sorted())")
    }

    /// Requires that the store says: no such item.
    func requireGone(_ item: Item) async throws {
        try await requireError(.noSuchItem, from: "a placeholder of a deleted item") {
            _ = try await placeholder(item)
        }
    }

    /// Requires that a download ends soon, as cancelled, when its task is cancelled while the sink waits.
    func requireCancellationEndsDownload(of item: Item) async throws {
        let sink = RefusingSink(patience: .seconds(3600))
        let task = Task {
            defer { sink.reached.open() }
            try await provider.startProvidingItem(
                item.identifier, version: item.version.content, range: 0..<item.size, into: sink)
        }
        try await sink.reached.pass()
        task.cancel()
        let late: @Sendable () -> any Error = { [patience] in
            RuleFailure("it had not ended \(patience) after the cancellation")
        }
        _ = try await withTimeLimit(patience, error: late) {
            try await requireError(.cancelled, from: "a cancelled download") { try await task.value }
        }
    }
}
