/// FNV-1a, 64 bits: the same bytes have the same one in each run and each version, where `Hasher` differs. No defence against anybody
/// who looks for two with the same.
///
/// Source: Fowler, Noll, Vo.
package struct StableHash: Sendable {
    package private(set) var value: UInt64

    package init(start: UInt64 = 0xcbf2_9ce4_8422_2325) { value = start }

    package init(_ bytes: some Sequence<UInt8>) {
        self.init()
        add(bytes)
    }

    package mutating func add(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }

    /// In hexadecimal digits, of which the first ones are left out where they are zeros.
    package var text: String { String(value, radix: 16) }
}
