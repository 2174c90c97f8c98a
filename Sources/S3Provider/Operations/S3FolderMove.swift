import Crypto
import FileProvider
import Foundation
import HTTPTransport
import Logging
import Surroundings
import Synchronization

/// What an object `.hydrant-move-…` says: a folder is being moved.
///
/// It lies beside the source, and while objects are copied also beside the target, so that a listing of either place
/// has it: then the listing leaves out the folder of which only a part may be there.
struct S3Intent: Codable, Hashable, Sendable {
    /// Keys below the mounted prefix.
    var source: String
    var target: String
    /// All objects are at the target; those at the source are being deleted.
    var isCopied = false

    /// The name of its objects: a retry of the move finds them.
    var name: String {
        let text = Array("\(source)\n\(target)".utf8)
        return S3Key.Reserved.start + "move-\(SHA256.hash(data: text).hexadecimal.prefix(24))"
    }

    /// The folder that is not shown.
    var hidden: String { isCopied ? source : target }
}

/// The intents that were read, by key and entity tag.
final class S3Intents: Sendable {
    private let table = Mutex<[String: (tag: String, intent: S3Intent?)]>([:])
    private static let most = 1_000

    func known(_ object: S3Object) -> (tag: String, intent: S3Intent?)? {
        guard let entry = table.withLock({ $0[object.key] }), entry.tag == object.entityTag else { return nil }
        return entry
    }

    func keep(_ intent: S3Intent?, of object: S3Object) {
        table.withLock { table in
            if table.count >= Self.most { table = [:] }
            table[object.key] = (object.entityTag, intent)
        }
    }
}

/// Moves a folder: copies all objects below it, then deletes them at their old keys. Whatever ends it, the next attempt
/// goes on; what somebody adds or changes at the source meanwhile is moved as well.
struct S3FolderMove {
    let provider: S3Provider
    let traits: S3Traits
    private let intent: S3Intent
    private var client: S3Client { provider.client }
    private static let atOnce = 8
    /// Looks at the source after which what is still added there stays there.
    private static let passes = 5

    init(provider: S3Provider, source: String, target: String, traits: S3Traits) {
        self.provider = provider
        self.traits = traits
        intent = S3Intent(source: source, target: target)
    }

    private var atSource: String { provider.key(S3Key.folder(of: intent.source) + intent.name) }
    private var atTarget: String { provider.key(S3Key.folder(of: intent.target) + intent.name + "-target") }

    /// An earlier attempt has begun it.
    var isUnderWay: Bool {
        get async throws(FileProviderError) { try await provider.intent(at: atSource) != nil }
    }

    func run() async throws(FileProviderError) {
        let begun = try await provider.intent(at: atSource)
        if begun?.isCopied != true {
            try await put(intent, at: atTarget)
            try await put(intent, at: atSource)
            var copied = 0
            do throws(FileProviderError) {
                try await each(intent.source) { object throws(FileProviderError) in
                    _ = try await copy(object)
                } after: { objects in
                    copied += objects.count
                    provider.logger.info(
                        "a folder is being moved",
                        metadata: ["from": "\(intent.source)", "to": "\(intent.target)", "copied": "\(copied)"])
                }
            } catch {
                // Another attempt would fail in the same way: what is at the target shows from now on.
                if [.invalidName, .permissionDenied, .unsupported].contains(error.code) {
                    try? await provider.remove(atTarget)
                    try? await provider.remove(atSource)
                }
                throw error
            }
            try await provider.keepFolder(intent.target)
            var done = intent
            done.isCopied = true
            // (For a moment both folders show; not neither of them, which would look like a deletion.)
            try await provider.remove(atTarget)
            try await put(done, at: atSource)
        } else {
            try await provider.remove(atTarget)
        }
        let source = provider.key(intent.source)
        var folders: Set<[UInt8]> = [Array(source.utf8)]
        for _ in 0..<Self.passes {
            var rest = 0
            try await each(intent.source) { object throws(FileProviderError) in
                if try await copy(object), !Self.isMarker(object) { try await delete(object) }
            } after: { objects in
                rest += objects.count { !Self.isMarker($0) }
                for object in objects { folders.formUnion(Self.folders(of: object.key, from: source)) }
            }
            if rest == 0 { break }
        }
        // The deepest first: a server with folders of its own deletes none that has something in it.
        for folder in folders.sorted(by: { $0.count > $1.count }) {
            try await provider.remove(String(decoding: folder, as: UTF8.self))
        }
        // (In this order: the mark itself is an object in the folder.)
        try await provider.remove(atSource)
        try await provider.keepFolder(S3Key.folder(of: intent.source))
    }

    /// Removes what earlier moves of this folder to other places have left: the user has chosen another place since. What
    /// they had copied shows there.
    func withdrawOthers() async throws(FileProviderError) {
        let folder = provider.key(S3Key.folder(of: intent.source))
        let marks = try await client.list(folder + S3Key.Reserved.start + "move-").objects
        for mark in marks {
            guard let other = try await provider.intent(at: mark.key), other.source == intent.source,
                !other.target.utf8.elementsEqual(intent.target.utf8)
            else { continue }
            let move = S3FolderMove(provider: provider, source: other.source, target: other.target, traits: traits)
            try await provider.remove(move.atTarget)
            try await provider.remove(move.atSource)
        }
    }

    /// The keys of the folders between the source and an object. (As bytes: for Swift's strings, a composed letter equals
    /// a decomposed one.)
    private static func folders(of key: String, from source: String) -> [[UInt8]] {
        let bytes = Array(key.utf8)
        let slash = UInt8(ascii: "/")
        return bytes.indices.filter { $0 >= source.utf8.count && bytes[$0] == slash }.map { Array(bytes[...$0]) }
    }

    /// Passes on all objects below a folder, several at a time.
    ///
    /// - Parameter after: gets the objects of each part of the listing that is done.
    private func each(
        _ folder: String, _ body: @escaping @Sendable (S3Object) async throws(FileProviderError) -> Void,
        after: ([S3Object]) -> Void
    ) async throws(FileProviderError) {
        let start = provider.key(folder)
        var token: String?
        repeat {
            let listing = try await client.list(start, isFlat: true, from: token)
            let objects = listing.objects.filter { $0.key.utf8.starts(with: start.utf8) }
            let failure: FileProviderError? = await withTaskGroup(of: FileProviderError?.self) { group in
                let step = { @Sendable (object: S3Object) async -> FileProviderError? in
                    do throws(FileProviderError) { try await body(object) } catch { return error }
                    return nil
                }
                var rest = objects[...]
                var failure: FileProviderError?
                for object in rest.prefix(Self.atOnce) { group.addTask { await step(object) } }
                rest = rest.dropFirst(Self.atOnce)
                while let ended = await group.next() {
                    failure = failure ?? ended
                    if failure == nil, let object = rest.popFirst() { group.addTask { await step(object) } }
                }
                return failure
            }
            if let failure { throw failure }
            after(objects)
            guard listing.next == nil || listing.next != token else {
                throw FileProviderError(
                    .cannotSynchronize, "\(client.describe(start)): the server's listing does not go on")
            }
            token = listing.next
        } while token != nil
    }

    /// Below the prefix.
    private func target(of object: S3Object) -> String {
        let rest = object.key.utf8.dropFirst(provider.key(intent.source).utf8.count)
        return intent.target + String(decoding: rest, as: UTF8.self)
    }

    /// Copies an object, if the target does not have it yet.
    ///
    /// - Returns: false when somebody has put another one at the target: then both stay where they are.
    private func copy(_ object: S3Object) async throws(FileProviderError) -> Bool {
        let path = target(of: object)
        // Some servers keep the marker of a folder as a folder, which cannot be copied (SeaweedFS).
        if Self.isMarker(object) {
            try await provider.keepFolder(path)
            return true
        }
        let target = provider.key(path)
        if let there = try await client.head(target) { return try await isCopy(there, of: object) }
        guard let head = try await client.head(object.key), head.object.entityTag == object.entityTag else {
            throw FileProviderError(.busy, "\(client.describe(object.key)): changed while it was moved")
        }
        let copy = S3Copy(provider: provider, head: head, target: target, condition: .absent, traits: traits)
        guard case .done = try await copy.run() else {
            throw FileProviderError(.busy, "\(client.describe(object.key)): changed while it was moved")
        }
        return true
    }

    private func isCopy(_ copy: S3Head, of object: S3Object) async throws(FileProviderError) -> Bool {
        guard copy.object.size == object.size else { return false }
        if copy.object.entityTag == object.entityTag { return true }
        // (A server may give the copy of an object in parts another entity tag.)
        guard S3Copy.parts(of: object.entityTag) != nil, let head = try await client.head(object.key) else {
            return false
        }
        return head.object.entityTag == object.entityTag && copy.metadata == head.metadata
            && head.metadata.modified != nil
    }

    private static func isMarker(_ object: S3Object) -> Bool { object.size == 0 && S3Key.isFolder(object.key) }

    private func delete(_ object: S3Object) async throws(FileProviderError) {
        if !traits.keepsDeletion {
            // Somebody may have changed it: the next pass moves that.
            guard let now = try await client.head(object.key), now.object.entityTag == object.entityTag else { return }
        }
        let outcome = try await client.delete(
            object.key, condition: traits.keepsDeletion ? .tag(object.entityTag) : .none)
        guard case .refused(let refusal) = outcome, ![404, 409, 412].contains(refusal.status) else { return }
        throw client.failure(refusal, object.key)
    }

    private func put(_ intent: S3Intent, at key: String) async throws(FileProviderError) {
        let bytes = Array((try? JSONEncoder().encode(intent)) ?? Data())
        let outcome = try await client.put(
            key, .bytes(bytes), sha256: S3Digests(bytes).sha256, S3ObjectHeaders.own, condition: .none)
        if case .refused(let refusal) = outcome { throw client.failure(refusal, key) }
    }
}

extension S3Provider {
    /// The intent in an object; nil: there is none.
    func intent(at key: String) async throws(FileProviderError) -> S3Intent? {
        let outcome = try await client.exchange(
            S3Client.Request(method: "GET", key: key, retries: .always)
        ) { reply -> S3Intent? in
            let bytes = try await reply.prefix(16 << 10)
            return try? JSONDecoder().decode(S3Intent.self, from: Data(bytes))
        }
        switch outcome {
        case .success(let intent): return intent
        case .refused(let refusal):
            if refusal.status == 404 { return nil }
            throw client.failure(refusal, key)
        }
    }

    /// The folders (below the prefix) that a listing must not show, by the intents in it.
    func hiddenFolders(_ objects: [S3Object]) async throws(FileProviderError) -> Set<ItemIdentifier> {
        var hidden: Set<ItemIdentifier> = []
        let start = S3Key.Reserved.start + "move-"
        // What nobody goes on with for a day hides nothing any more.
        let oldest = FileTime.present.seconds - 86_400
        for object in objects
        where S3Key.name(of: object.key).bytes.starts(with: start.utf8) && object.modified.seconds > oldest {
            let intent: S3Intent?
            if let known = intents.known(object) {
                intent = known.intent
            } else {
                intent = try await self.intent(at: object.key)
                intents.keep(intent, of: object)
            }
            if let intent { hidden.insert(ItemIdentifier(intent.hidden)) }
        }
        return hidden
    }
}
