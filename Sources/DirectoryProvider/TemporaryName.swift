/// Names of the provider's own files in the store: `.hydrant-<kind><16 hex digits>.tmp`.
///
/// Two kinds, because a crash leaves them behind: a *draft* holds an upload and may be deleted; a file *set aside*
/// holds a document that other programs may have changed, and is never deleted unseen.
enum TemporaryName {
    enum Kind: UInt8 {
        case draft = 0x6E  // n, new
        case aside = 0x78  // x, exchanged
    }

    private static let prefix = Array(".hydrant-".utf8)
    private static let suffix = Array(".tmp".utf8)

    static func make(_ kind: Kind) -> [UInt8] {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        let padded = String(repeating: "0", count: 16 - digits.count) + digits
        return prefix + [kind.rawValue] + Array(padded.utf8) + suffix
    }

    /// Nil for every other name.
    static func kind(of name: [UInt8]) -> Kind? {
        guard name.count == prefix.count + 17 + suffix.count, name.starts(with: prefix),
            name.suffix(suffix.count).elementsEqual(suffix)
        else { return nil }
        let digits = name[(prefix.count + 1)..<(prefix.count + 17)]
        guard digits.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }) else {
            return nil
        }
        return Kind(rawValue: name[prefix.count])
    }
}
