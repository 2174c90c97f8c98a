import Foundation
import Surroundings

/// Parses the options of a mount.
extension DaemonConfiguration {
    /// `--domain`: a folder's name, made of characters that are safe everywhere.
    package mutating func setDomain(_ name: String) throws(DaemonError) {
        guard stateDirectory == nil else {
            throw DaemonError("--domain and --state-dir both say where the state is; give one of them")
        }
        let isPlain = name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) }
        guard isPlain, (1...100).contains(name.utf8.count), let first = name.first, !"-.".contains(first) else {
            throw DaemonError(
                "--domain \(name): not a name; use up to 100 letters, digits, “-”, “_” and “.”, the first a letter or digit"
            )
        }
        domain = name
    }

    /// `--uid`, `--gid` (numbers or names), `--umask` (octal), `--read-only`, and the lists after `-o` (mount(8)),
    /// where `uid=`, `gid=`, `umask=`, `ro` and `rw` mean the same. Refuses contradictions.
    package mutating func setMount(
        options lists: [String], readOnly: Bool, uid: String?, gid: String?, umask: String?
    ) throws(DaemonError) {
        if let uid { try set(\.uid, Self.user(uid, "--uid \(uid)"), "--uid \(uid)") }
        if let gid { try set(\.gid, Self.group(gid, "--gid \(gid)"), "--gid \(gid)") }
        if let umask { try set(\.umask, Self.mask(umask, "--umask \(umask)"), "--umask \(umask)") }
        var access = readOnly ? "--read-only" : nil
        isReadOnly = readOnly
        for option in lists.flatMap(Self.split) {
            let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let value = parts.count == 2 ? parts[1] : nil
            switch (parts[0], value) {
            case ("ro", nil), ("rw", nil):
                if let access, (option == "rw") == isReadOnly {
                    throw DaemonError("\(access) and -o \(option) contradict each other; give one of them")
                }
                access = "-o \(option)"
                isReadOnly = option == "ro"
            case ("uid", let value?): try set(\.uid, Self.user(value, "-o \(option)"), "-o \(option)")
            case ("gid", let value?): try set(\.gid, Self.group(value, "-o \(option)"), "-o \(option)")
            case ("umask", let value?): try set(\.umask, Self.mask(value, "-o \(option)"), "-o \(option)")
            case ("subtype", _):
                throw DaemonError("-o \(option): Hydrant recognises its mounts by their type; leave this option out")
            default: mountOptions.append(option)
            }
        }
    }

    private mutating func set(
        _ field: WritableKeyPath<Self, UInt32?>, _ value: UInt32, _ option: String
    ) throws(DaemonError) {
        if let other = self[keyPath: field], other != value {
            throw DaemonError("\(option): another value is given as well; give one of them")
        }
        self[keyPath: field] = value
    }

    /// Splits at commas; a backslash escapes the next character.
    private static func split(_ list: String) -> [String] {
        var options = [""]
        var isKept = false
        for character in list {
            if character == ",", !isKept { options.append("") } else { options[options.count - 1].append(character) }
            isKept = character == "\\" && !isKept
        }
        return options.filter { !$0.isEmpty }
    }

    // MARK: Numbers and names

    private static func user(_ text: String, _ option: String) throws(DaemonError) -> uid_t {
        if let number = number(text) { return number }
        guard let number = UserNames.number(of: text) else { throw DaemonError("\(option): there is no such user") }
        return number
    }

    private static func group(_ text: String, _ option: String) throws(DaemonError) -> gid_t {
        if let number = number(text) { return number }
        guard let number = UserNames.number(ofGroup: text) else {
            throw DaemonError("\(option): there is no such group")
        }
        return number
    }

    /// Refuses the largest number, which means "unchanged" (chown(2)).
    private static func number(_ text: String) -> UInt32? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return UInt32(text).flatMap { $0 == .max ? nil : $0 }
    }

    private static func mask(_ text: String, _ option: String) throws(DaemonError) -> UInt32 {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "7")).contains($0) }),
            let mask = UInt32(text, radix: 8), mask <= 0o777
        else { throw DaemonError("\(option): not an octal mask; write 022 or 077") }
        return mask
    }
}
