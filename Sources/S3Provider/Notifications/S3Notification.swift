import FileProvider
import Foundation
import HTTPTransport

/// A server's message: which objects were made and removed. Only a hint.
///
/// Source: *Amazon S3 User Guide, Event message structure*; Ceph, *Bucket Notifications*.
struct S3Notification {
    private struct Message: Decodable {
        struct Record: Decodable {
            struct Subject: Decodable {
                struct Bucket: Decodable { var name: String }
                struct Object: Decodable { var key: String }
                var bucket: Bucket
                var object: Object
            }
            var s3: Subject
        }
        var records: [Record]
        enum CodingKeys: String, CodingKey { case records = "Records" }
    }

    private static let mostRecords = 200

    /// The objects that a message names, below the mounted prefix: none where it has nothing to do with the mounted part
    /// of the bucket.
    ///
    /// - Returns: nil for a message that cannot be read, or has very much.
    static func paths(_ bytes: [UInt8], _ address: S3Address) -> Set<String>? {
        guard let message = try? JSONDecoder().decode(Message.self, from: Data(bytes)),
            message.records.count <= mostRecords
        else { return nil }
        var paths: Set<String> = []
        for record in message.records where record.s3.bucket.name == address.bucket {
            let key = record.s3.object.key
            insert(key, address, &paths)
            // (Amazon's form, and that of some servers.)
            guard key.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) else { continue }
            let spaces = key.utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
            if let plain = PercentCoding.decode(spaces).flatMap({ String(validating: $0, as: UTF8.self) }) {
                insert(plain, address, &paths)
            }
        }
        return paths
    }

    private static func insert(_ key: String, _ address: S3Address, _ paths: inout Set<String>) {
        guard key.utf8.count <= S3Key.longest, key.utf8.starts(with: address.prefix.utf8) else { return }
        let path = String(decoding: key.utf8.dropFirst(address.prefix.utf8.count), as: UTF8.self)
        // A mark of a move changes what a listing shows; what else is Hydrant's own does not.
        let name = S3Key.name(of: path)
        if S3Key.Reserved.contains(name), !name.bytes.starts(with: (S3Key.Reserved.start + "move-").utf8) { return }
        paths.insert(path)
    }

    /// The folders above an object, the nearest first; the topmost last.
    static func folders(of path: String) -> [String] {
        var folders = [S3Key.folder(of: path)]
        while let last = folders.last, !last.isEmpty { folders.append(S3Key.folder(of: last)) }
        return folders
    }
}
