/// An action of a program, a user, the store's other client or the environment. It is self-contained, so that leaving
/// it out does not change the others.
struct Operation: Hashable, Sendable, CustomStringConvertible {
    enum Verb: String, CaseIterable, Sendable {
        // Programs with open files, by slot: open PATH slot kind (0 read, 1 read-write, 2 create, 3 truncate).
        case open, read, write, truncateOpen, sync, punch, allocate, copy, close
        // Programs, by path. Contents are token and length (see `Contents`).
        case save, append, patch, truncate, readAll, list, mkdir, rmdir, unlink, rename, renameNew, exchange, link
        case symlink, chmod, touch, setAttribute, removeAttribute, replace, backup
        // Users.
        case evict, download, pin, unpin, pause, resume, hurry
        // The store's other client.
        case remotePut, remoteMove, remoteDelete, remoteFolder, remoteAttribute
        // The environment: fault hook kind parameter; run steps seed; wait milliseconds seed; kill seed; settle seed.
        case offline, online, fault, forgetChanges, run, wait, kill, settle
    }

    var verb: Verb
    var paths: [String] = []
    var numbers: [Int] = []

    init(_ verb: Verb, _ paths: [String] = [], _ numbers: [Int] = []) {
        (self.verb, self.paths, self.numbers) = (verb, paths, numbers)
    }

    /// A line: the verb, the paths (with a slash in front), the numbers.
    init?(line: some StringProtocol) {
        let words: [String] = String(line).split(separator: " ").map { String($0) }
        guard let first = words.first, let verb = Verb(rawValue: first) else { return nil }
        self.init(verb)
        for word in words.dropFirst() {
            if word.first == "/" {
                paths.append(String(word.dropFirst()))
            } else if let number = Int(word) {
                numbers.append(number)
            } else {
                return nil
            }
        }
        guard paths.count == Self.shape(verb).paths, numbers.count == Self.shape(verb).numbers else { return nil }
    }

    var description: String {
        ([verb.rawValue] + paths.map { "/" + $0 } + numbers.map(String.init)).joined(separator: " ")
    }

    /// The number of paths and numbers of a verb.
    static func shape(_ verb: Verb) -> (paths: Int, numbers: Int) {
        switch verb {
        case .open: (1, 2)
        case .read, .sync, .close: (0, 1)
        case .truncateOpen: (0, 2)
        case .write: (0, 4)
        case .punch, .allocate: (0, 3)
        case .copy: (0, 2)
        case .save, .append, .replace, .backup, .remotePut: (1, 2)
        case .patch, .setAttribute, .remoteAttribute: (1, 3)
        case .truncate, .chmod, .touch, .symlink, .removeAttribute: (1, 1)
        case .readAll, .list, .mkdir, .rmdir, .unlink, .evict, .download, .pin, .unpin, .remoteDelete, .remoteFolder:
            (1, 0)
        case .rename, .renameNew, .exchange, .link, .remoteMove: (2, 0)
        case .pause, .resume, .hurry, .offline, .online, .forgetChanges: (0, 0)
        case .fault: (0, 3)
        case .run, .wait: (0, 2)
        case .kill, .settle: (0, 1)
        }
    }
}

/// A list of operations, and the environment in which they happen.
struct OperationList: Sendable {
    var seed: UInt64 = 0
    /// Whether programs read and write whole documents directly (passthrough).
    var isPassthrough = false
    /// Whether the store lists changes since an anchor; signals changes from here; has a trash.
    var hasChanges = true
    var signalsOwn = false
    var hasTrash = false
    var operations: [Operation] = []

    /// The text of a replay file.
    var text: String {
        "seed \(seed)\nworld \(isPassthrough ? 1 : 0) \(hasChanges ? 1 : 0) \(signalsOwn ? 1 : 0) \(hasTrash ? 1 : 0)\n"
            + operations.map { "\($0)\n" }.joined()
    }

    init() {}

    /// Ignores empty lines and those that begin with `#`. Throws the first invalid line.
    init(text: String) throws(BadSequence) {
        for line in text.split(separator: "\n") where !line.hasPrefix("#") && !line.allSatisfy(\.isWhitespace) {
            let words = line.split(separator: " ")
            if words[0] == "seed", words.count == 2, let seed = UInt64(words[1]) {
                self.seed = seed
            } else if words[0] == "world", words.count == 5 {
                isPassthrough = words[1] == "1"
                hasChanges = words[2] == "1"
                signalsOwn = words[3] == "1"
                hasTrash = words[4] == "1"
            } else if let operation = Operation(line: line) {
                operations.append(operation)
            } else {
                throw BadSequence(line: String(line))
            }
        }
    }
}

struct BadSequence: Error { var line: String }

/// Unique bytes, which identify the operation that wrote them.
enum Contents {
    static func bytes(_ token: Int, _ length: Int) -> [UInt8] {
        let piece = Array("<\(token)>".utf8)
        return (0..<max(0, length)).map { piece[$0 % piece.count] }
    }

    /// For people.
    static func show(_ bytes: [UInt8]) -> String {
        let start = String(decoding: bytes.prefix(24).map { $0 == 0 ? 0x5f : $0 }, as: UTF8.self)
        return bytes.count > 24 ? "\(start)… (\(bytes.count) bytes, \(hash(bytes)))" : "“\(start)”"
    }

    static func hash(_ bytes: [UInt8]) -> String {
        String(bytes.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }, radix: 36)
    }
}
