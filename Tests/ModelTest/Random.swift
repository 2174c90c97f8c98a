/// SplitMix64: small, and the same on every platform.
struct Random: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    /// From a seed and a text: the choices of one line do not depend on other lines.
    init(_ seed: UInt64, _ text: String) {
        state = text.utf8.reduce(seed ^ 0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(1, bound))) }
    mutating func chance(_ part: Int, in whole: Int) -> Bool { below(whole) < part }
    mutating func pick<T>(_ all: [T]) -> T { all[below(all.count)] }
}
