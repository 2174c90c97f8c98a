import COpenSSL

/// HMAC with SHA-256 (RFC 2104, `HMAC(3)` of libcrypto).
package enum AuthenticationCode {
    package static func of(_ message: some Sequence<UInt8>, key: some Sequence<UInt8>) -> Digest {
        let (message, key) = (Array(message), Array(key))
        var count: UInt32 = 0
        return Digest(
            [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, filled in
                let code = HMAC(
                    EVP_sha256(), key, Int32(key.count), message, message.count, buffer.baseAddress, &count)
                precondition(code != nil, "libcrypto refuses HMAC with SHA-256")
                filled = Int(count)
            })
    }

    /// Compares in a time that does not tell where the codes differ.
    package static func isValid(
        _ code: some Sequence<UInt8>, for message: some Sequence<UInt8>, key: some Sequence<UInt8>
    ) -> Bool {
        let (code, right) = (Array(code), Array(of(message, key: key)))
        return code.count == right.count && CRYPTO_memcmp(code, right, right.count) == 0
    }
}
