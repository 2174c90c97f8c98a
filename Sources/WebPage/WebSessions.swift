import ControlAPI
import Foundation
import NIOPosix
import Surroundings
import Synchronization

/// Secrets that nobody guesses.
enum Secret {
    /// 256 bits of the system's randomness, as 64 digits.
    static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<4).flatMap { _ in
            withUnsafeBytes(of: UInt64.random(in: .min ... .max, using: &generator)) { Array($0) }
        }
        .hexadecimal
    }

    static func isOne(_ text: String) -> Bool {
        text.utf8.count == 64 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }

    /// In a time that says nothing of where they differ.
    static func areEqual(_ one: String, _ other: String) -> Bool {
        let (one, other) = (Array(one.utf8), Array(other.utf8))
        guard one.count == other.count else { return false }
        return zip(one, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// The codes that open the page once each: empty files in a folder that only the user can access, so that any command of
/// his makes one, and removing the file is what uses it up.
package struct PageCodes: Sendable {
    package let folder: String
    /// How long a code is good, in seconds.
    static let life = 900.0
    private static let prefix = "code-"

    /// - Parameter folder: exists, mode 0700.
    package init(folder: String) { self.folder = folder }

    package func make() throws -> String {
        removeOld()
        let code = Secret.make()
        try SmallFile.replace("\(folder)/\(Self.prefix)\(code)", with: [UInt8](), isDurable: false)
        return code
    }

    /// Whether this is a code that nobody has used.
    func take(_ code: String) -> Bool {
        guard Secret.isOne(code) else { return false }
        removeOld()
        return unlink("\(folder)/\(Self.prefix)\(code)") == 0
    }

    private func removeOld() {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        where name.hasPrefix(Self.prefix) {
            var status = stat()
            let path = "\(folder)/\(name)"
            if lstat(path, &status) == 0, Double(status.st_mtim.tv_sec) + Self.life < Date().timeIntervalSince1970 {
                unlink(path)
            }
        }
    }
}

/// Who may use the page: whoever shows a token that a code was swapped for.
///
/// The page's script keeps the token for its tab and sends it with each request. A cookie would not do: browsers send the
/// cookies of 127.0.0.1 to every port, so also to servers of other users of this machine.
final class WebSessions: Sendable {
    private struct State {
        var tokens: [String] = []
        var lastUse = ContinuousClock.now
    }
    private let codes: PageCodes
    private let state = Mutex(State())
    /// The oldest one makes room for another.
    private static let most = 32

    init(_ codes: PageCodes) { self.codes = codes }

    /// Nil: nobody made the code, or it was used.
    func open(code: String) async -> String? {
        let codes = codes
        let isGood = try? await NIOThreadPool.singleton.runIfActive { codes.take(code) }
        guard isGood == true else { return nil }
        let token = Secret.make()
        state.withLock { state in
            state.tokens.append(token)
            if state.tokens.count > Self.most { state.tokens.removeFirst() }
            state.lastUse = .now
        }
        return token
    }

    /// - Parameter authorization: the values of the request's field.
    func isOpen(_ authorization: [String]) -> Bool {
        guard authorization.count == 1, let field = authorization.first, field.hasPrefix("Bearer ") else {
            return false
        }
        let given = String(field.dropFirst(7))
        return state.withLock { state in
            guard state.tokens.contains(where: { Secret.areEqual(given, $0) }) else { return false }
            state.lastUse = .now
            return true
        }
    }

    var lastUse: ContinuousClock.Instant { state.withLock { $0.lastUse } }
}
