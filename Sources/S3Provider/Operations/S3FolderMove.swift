import FileProvider
import Foundation
import HTTPTransport
import Hashing
import Logging
import Surroundings
import Synchronization

/// What an object `.hydrant-move-…` says: a folder is being moved.
///
/// It lies beside the source, and while objects are copied also beside the target, so that a listing of either place
/// has it: then the listing leaves out the folder of which only a part may be there.
struct S3Intent: Codable, Hashable, Sendable {
    /// Whole keys: mounts of other prefixes of the bucket read them too.
    var source: String
    var target: String
    /// All objects are at the target; those at the source are being deleted.
    var isCopied = false

    /// The name of its objects: a retry of the move finds them.
    var name: String {
        let text = Array("\(source)\n\(target)".utf8)
        return S3Key.Reserved.start + "move-\(SHA256.hash(data: text).hexadecimal.prefix(24))"
    }

    /// The key of the folder that is not shown.
    var hidden: String { isCopied ? source : target }

    var atSource: String { S3Key.folder(of: source) + name }
    var atTarget: String { S3Key.folder(of: target) + name + "-target" }
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
    /// Below the mounted prefix.
    private let source: String
    private let target: String
    private let intent: S3Intent
    private var client: S3Client { provider.client }
    private static let atOnce = 8
    /// Looks at the source after which what is still added there stays there.
    private static let passes = 5
    /// Of one listing: ten million objects.
    private static let mostParts = 10_000

    init(provider: S3Provider, source: String, target: String, traits: S3Traits) {
        self.provider = provider
        self.traits = traits
        self.source = source
        self.target = target
        intent = S3Intent(source: provider.key(source), target: provider.key(target))
    }

    /// An earlier attempt has begun it.
    var isUnderWay: Bool {
        get async throws(FileProviderError) { try await provider.intent(at: intent.atSource) != nil }
    }

    /// Looks for objects that cannot be moved, before the first one is copied: otherwise the target has a part of the
    /// folder, and each attempt fails at the same object.
    func check() async throws(FileProviderError) {
        try await each { object throws(FileProviderError) in
            let length = provider.key(target(of: object)).utf8.count
            guard length <= S3Key.longest else {
                throw FileProviderError(
                    .invalidName,
                    "\(client.describe(object.key)): would have a name of \(length) bytes with its folders, and a bucket "
                        + "takes \(S3Key.longest); use a shorter name")
            }
            guard let storage = object.storageClass, S3ObjectHeaders.archives.contains(storage),
                let head = try await client.head(object.key), !head.isRestored
            else { return }
            throw client.archived(object.key)
        } after: { _ in
        }
    }

    func run() async throws(FileProviderError) {
        let begun = try await provider.intent(at: intent.atSource)
        if begun?.isCopied != true {
            // (In this order: what a kill in between leaves hides nothing.)
            try await put(intent, at: intent.atSource)
            try await put(intent, at: intent.atTarget)
            var copied = 0
            try await each { object throws(FileProviderError) in
                _ = try await copy(object)
            } after: { objects in
                copied += objects.count
                provider.logger.info(
                    "a folder is being moved",
                    metadata: ["from": "\(source)", "to": "\(target)", "copied": "\(copied)"])
            }
            try await provider.keepFolder(target)
            var done = intent
            done.isCopied = true
            // (For a moment both folders show; not neither of them, which would look like a deletion.)
            try await provider.remove(intent.atTarget)
            try await put(done, at: intent.atSource)
        } else {
            try await provider.remove(intent.atTarget)
        }
        try await deleteSource()
        // (In this order: the mark itself is an object in the folder.)
        try await provider.remove(intent.atSource)
        try await provider.keepFolder(S3Key.folder(of: source))
    }

    /// Deletes what the target has, and moves what somebody adds meanwhile.
    private func deleteSource() async throws(FileProviderError) {
        var folders: Set<[UInt8]> = [Array(intent.source.utf8)]
        for _ in 0..<Self.passes {
            var rest = 0
            try await each { object throws(FileProviderError) in
                if try await copy(object), !Self.isMarker(object) { try await delete(object) }
            } after: { objects in
                rest += objects.count { !Self.isMarker($0) }
                for object in objects { folders.formUnion(Self.folders(of: object.key, from: intent.source)) }
            }
            if rest == 0 { break }
        }
        // The deepest first: a server with folders of its own deletes none that has something in it.
        for folder in folders.sorted(by: { $0.count > $1.count }) {
            let key = String(decoding: folder, as: UTF8.self)
            // (A web site's page may have a folder's key.)
            if let there = try await client.head(key), there.object.size > 0 { continue }
            try await provider.remove(key)
        }
    }

    /// Ends what earlier moves of this folder to other places have left: the user has chosen another place since. A move
    /// that has copied everything goes on to its end. What another one has copied shows there.
    ///
    /// - Returns: where this folder is now; nil: where it was.
    func endOthers() async throws(FileProviderError) -> String? {
        let prefix = provider.address.prefix
        let start = S3Key.folder(of: intent.source) + S3Key.Reserved.start + "move-"
        var place: String?
        for mark in try await client.list(start).objects {
            guard let other = try await provider.intent(at: mark.key),
                other.source.utf8.elementsEqual(intent.source.utf8),
                !other.target.utf8.elementsEqual(intent.target.utf8)
            else { continue }
            if other.isCopied, mark.key == other.atSource, other.target.utf8.starts(with: prefix.utf8) {
                let path = String(decoding: other.target.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
                try await S3FolderMove(provider: provider, source: source, target: path, traits: traits).run()
                place = path
            } else {
                try await provider.remove(other.atTarget)
                try await provider.remove(other.atSource)
            }
        }
        return place
    }

    /// The keys of the folders between the source and an object. (As bytes: for Swift's strings, a composed letter equals
    /// a decomposed one.)
    private static func folders(of key: String, from source: String) -> [[UInt8]] {
        let bytes = Array(key.utf8)
        let slash = UInt8(ascii: "/")
        return bytes.indices.filter { $0 >= source.utf8.count && bytes[$0] == slash }.map { Array(bytes[...$0]) }
    }

    /// Passes on all objects below the source, several at a time.
    ///
    /// - Parameter after: gets the objects of each part of the listing that is done.
    private func each(
        _ body: @escaping @Sendable (S3Object) async throws(FileProviderError) -> Void,
        after: ([S3Object]) -> Void
    ) async throws(FileProviderError) {
        let start = intent.source
        var token: String?
        var parts = 0
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
            parts += 1
            guard listing.next == nil || listing.next != token && parts < Self.mostParts else {
                throw FileProviderError(
                    .cannotSynchronize, "\(client.describe(start)): the server's listing does not go on")
            }
            token = listing.next
        } while token != nil
    }

    /// Below the prefix.
    private func target(of object: S3Object) -> String {
        let rest = object.key.utf8.dropFirst(intent.source.utf8.count)
        return target + String(decoding: rest, as: UTF8.self)
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
        guard let head = try await client.head(object.key), head.object.entityTag == object.entityTag else {
            return false
        }
        if copy.isCopy(of: head) { return true }
        // (A server may give the copy of an object in parts another entity tag.)
        return S3Copy.parts(of: object.entityTag) != nil && copy.metadata == head.metadata
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

    /// The keys, as bytes, of the folders that a listing must not show, by the intents in it.
    func hiddenFolders(_ objects: [S3Object]) async throws(FileProviderError) -> Set<[UInt8]> {
        var hidden: Set<[UInt8]> = []
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
            if let intent { hidden.insert(Array(intent.hidden.utf8)) }
        }
        return hidden
    }
}
