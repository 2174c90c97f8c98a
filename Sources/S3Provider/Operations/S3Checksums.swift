import FileProvider
import Foundation
import HTTPTransport
import Hashing

/// A checksum of a whole object that a server keeps and sends with it.
///
/// Source: *Amazon S3 User Guide, Checking object integrity*. Digests of digests (`…-3`), as of an object that was sent
/// in parts, are none of its contents.
enum S3Checksum: Hashable, Sendable {
    case sha256([UInt8])
    case crc(S3CyclicCode, UInt64)

    /// From the head of an answer; nil: it has none that says something of the whole object.
    init?(_ reply: HTTPReply) {
        if reply.field("x-amz-checksum-type")?.uppercased() == "COMPOSITE" { return nil }
        if let sum = Self.bytes(reply, "sha256"), sum.count == 32 {
            self = .sha256(sum)
            return
        }
        for code in S3CyclicCode.all {
            guard let sum = Self.bytes(reply, code.name), sum.count == code.size else { continue }
            self = .crc(code, sum.reduce(0) { $0 << 8 | UInt64($1) })
            return
        }
        return nil
    }

    private static func bytes(_ reply: HTTPReply, _ name: String) -> [UInt8]? {
        reply.field("x-amz-checksum-\(name)").flatMap { Data(base64Encoded: $0) }.map { Array($0) }
    }

    func matches(_ bytes: [UInt8]) -> Bool {
        switch self {
        case .sha256(let sum): Array(SHA256.hash(data: bytes)) == sum
        case .crc(let code, let sum): code.sum(of: bytes) == sum
        }
    }
}

/// A cyclic redundancy check with reflected bits, whose register begins and ends inverted.
///
/// Source: *A Painless Guide to CRC Error Detection Algorithms*, and the catalogue of parametrised CRC algorithms:
/// CRC-32/ISO-HDLC, CRC-32/ISCSI, CRC-64/NVME.
struct S3CyclicCode: Hashable, Sendable {
    /// In the name of the header.
    let name: String
    /// In bytes.
    let size: Int
    private let table: [UInt64]

    private init(_ name: String, size: Int, reflected polynomial: UInt64) {
        self.name = name
        self.size = size
        table = (0..<256).map { byte -> UInt64 in
            (0..<8).reduce(UInt64(byte)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ polynomial }
        }
    }

    static let crc64NVMe = S3CyclicCode("crc64nvme", size: 8, reflected: 0x9a6c_9329_ac4b_c9b5)
    static let crc32 = S3CyclicCode("crc32", size: 4, reflected: 0xedb8_8320)
    static let crc32C = S3CyclicCode("crc32c", size: 4, reflected: 0x82f6_3b78)
    static let all = [crc64NVMe, crc32C, crc32]

    static func == (one: Self, other: Self) -> Bool { one.name == other.name }
    func hash(into hasher: inout Hasher) { hasher.combine(name) }

    func sum(of bytes: [UInt8]) -> UInt64 {
        let ones = size == 8 ? UInt64.max : 0xffff_ffff
        return bytes.reduce(ones) { $0 >> 8 ^ table[Int(($0 ^ UInt64($1)) & 0xff)] } ^ ones
    }
}
