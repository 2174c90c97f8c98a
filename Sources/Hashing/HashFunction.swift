import COpenSSL

/// A hash function of OpenSSL's libcrypto (`EVP_DigestInit_ex(3)`), fed piece by piece.
package protocol HashFunction: Sendable {
    var state: HashState { get set }
    init()
}

extension HashFunction {
    package static func hash(data: some Sequence<UInt8>) -> Digest {
        var hash = Self()
        hash.update(data: data)
        return hash.finalize()
    }

    package mutating func update(data: some Sequence<UInt8>) {
        if data.withContiguousStorageIfAvailable({ state.add(UnsafeRawBufferPointer($0)) }) == nil {
            Array(data).withUnsafeBytes { state.add($0) }
        }
    }

    /// The hash of what was fed until now; more may follow.
    package func finalize() -> Digest { state.digest() }
}

/// The names as in swift-crypto: broken ones are marked.
package enum Insecure {
    package struct MD5: HashFunction {
        package var state = HashState(.md5)
        package init() {}
    }

    package struct SHA1: HashFunction {
        package var state = HashState(.sha1)
        package init() {}
    }
}

package struct SHA256: HashFunction {
    package var state = HashState(.sha256)
    package init() {}
}

package struct SHA512: HashFunction {
    package var state = HashState(.sha512)
    package init() {}
}

/// A hash, or an authentication code.
package struct Digest: RandomAccessCollection, Hashable, Sendable {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    package var startIndex: Int { 0 }
    package var endIndex: Int { bytes.count }
    package subscript(index: Int) -> UInt8 { bytes[index] }

    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try bytes.withUnsafeBytes(body)
    }
}

/// libcrypto's implementations, which live as long as the program. (Also where the administrator allows only FIPS:
/// MD5 and SHA-1 here tell contents apart, and guard nothing.)
struct HashAlgorithm: Sendable {
    /// (Unsafe only by its type: libcrypto does not change it after it was fetched.)
    nonisolated(unsafe) fileprivate let type: OpaquePointer

    private init(_ name: String) {
        guard let type = EVP_MD_fetch(nil, name, "-fips") else { fatalError("libcrypto has no \(name)") }
        self.type = type
    }

    static let md5 = HashAlgorithm("MD5")
    static let sha1 = HashAlgorithm("SHA1")
    static let sha256 = HashAlgorithm("SHA256")
    static let sha512 = HashAlgorithm("SHA512")
}

/// What a hash function has been fed, a value.
package struct HashState: Sendable {
    /// `@unchecked`: it changes only while one value alone holds it; see ``add(_:)``.
    private final class Context: @unchecked Sendable {
        let pointer: OpaquePointer

        init() {
            // (Without memory, as everywhere in Swift, the program ends.)
            guard let pointer = EVP_MD_CTX_new() else { fatalError("libcrypto has no memory for a hash") }
            self.pointer = pointer
        }

        convenience init(copyOf other: Context) {
            self.init()
            check(EVP_MD_CTX_copy_ex(pointer, other.pointer))
        }

        deinit { EVP_MD_CTX_free(pointer) }

        /// (It fails without memory only.)
        func check(_ result: Int32) { precondition(result == 1, "libcrypto has no memory for a hash") }
    }

    private var context = Context()

    init(_ algorithm: HashAlgorithm) { context.check(EVP_DigestInit_ex(context.pointer, algorithm.type, nil)) }

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return }
        if !isKnownUniquelyReferenced(&context) { context = Context(copyOf: context) }
        context.check(EVP_DigestUpdate(context.pointer, bytes.baseAddress, bytes.count))
    }

    func digest() -> Digest {
        let copy = Context(copyOf: context)
        var count: UInt32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, filled in
            copy.check(EVP_DigestFinal_ex(copy.pointer, buffer.baseAddress, &count))
            filled = Int(count)
        }
        return Digest(bytes)
    }
}
