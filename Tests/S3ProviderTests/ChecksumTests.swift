import HTTPTransport
import Testing

@testable import S3Provider

/// The check values of the catalogue of parametrised CRC algorithms.
@Suite struct ChecksumTests {
    @Test(
        arguments: [
            (S3CyclicCode.crc32, 0xcbf4_3926), (.crc32C, 0xe306_9283), (.crc64NVMe, 0xae8b_1486_0a79_9888),
        ] as [(S3CyclicCode, UInt64)])
    func checkValues(_ code: S3CyclicCode, _ sum: UInt64) {
        #expect(code.sum(of: Array("123456789".utf8)) == sum)
        #expect(S3Checksum.crc(code, sum).matches(Array("123456789".utf8)))
        #expect(!S3Checksum.crc(code, sum).matches(Array("123456788".utf8)))
    }

    @Test func words() {
        #expect(S3CredentialChain.words(#"/opt/tool --name "My key"  x"#) == ["/opt/tool", "--name", "My key", "x"])
        #expect(S3CredentialChain.words(" \t ") == [])
        #expect(S3CredentialChain.words(#"a """#) == ["a", ""])
        #expect(
            S3CredentialChain.words(#"'/opt/My Tool/x' a\ b "c\"d\e" 'f\g"h'"#)
                == ["/opt/My Tool/x", "a b", #"c"d\e"#, #"f\g"h"#])
    }

    @Test(
        arguments: [
            ("", nil), ("d41d8cd98f00b204e9800998ecf8427e", nil), ("d41d8cd98f00b204e9800998ecf8427e-3", 3),
            ("x-", nil),
            ("x-0", nil), ("x-10001", nil),
        ] as [(String, Int?)])
    func parts(_ tag: String, _ count: Int?) { #expect(S3Copy.parts(of: tag) == count) }
}
