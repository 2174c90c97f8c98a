import Foundation
package import HTTPTransport
import Surroundings

/// Reads a password from a person or a program; never from the command line, which every user can read.
package enum PasswordInput {
    package static var hasTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// Asks at the terminal, without showing what is typed.
    package static func ask(for settings: AccountSettings, at domain: String) throws(AccountError) -> Secret {
        let isKey = StoreURL.isS3(settings.url)
        guard isKey, settings.user == nil else {
            let user = settings.user ?? "the user"
            let what = isKey ? "Secret key of \(user)" : settings.usesToken ? "Token" : "Password of \(user)"
            return try ask(what, for: settings, at: domain, isShown: false)
        }
        let key = try ask("Access key", for: settings, at: domain, isShown: true)
        let secret = try ask("Secret key of \(key.revealed)", for: settings, at: domain, isShown: false)
        return Secret("\(key.revealed):\(secret.revealed)")
    }

    private static func ask(
        _ what: String, for settings: AccountSettings, at domain: String, isShown: Bool
    ) throws(AccountError) -> Secret {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else {
            throw AccountError(
                "there is no terminal to ask for a password; pass it on standard input, with --password-stdin")
        }
        defer { close(terminal) }
        write(terminal, ShownText.line("\(what) for \(domain) (\(settings.url)): "))
        if isShown { return try line(of: terminal) }
        var shown = termios()
        guard tcgetattr(terminal, &shown) == 0 else { throw AccountError("the terminal cannot hide the input") }
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(terminal, TCSAFLUSH, &hidden)
        defer {
            tcsetattr(terminal, TCSAFLUSH, &shown)
            write(terminal, "\n")
        }
        return try line(of: terminal)
    }

    /// The first line of standard input.
    package static func read() throws(AccountError) -> Secret { try line(of: STDIN_FILENO) }

    private static func line(of descriptor: Int32) throws(AccountError) -> Secret {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.count < 64 << 10 {
            let count = Foundation.read(descriptor, &byte, 1)
            if count < 0 && errno == EINTR { continue }
            guard count == 1, byte != UInt8(ascii: "\n") else { break }
            bytes.append(byte)
        }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard !bytes.isEmpty else { throw AccountError("no password was given") }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw AccountError("the password is not UTF-8")
        }
        return Secret(text)
    }

    private static func write(_ descriptor: Int32, _ text: String) {
        _ = Foundation.write(descriptor, text, text.utf8.count)
    }
}
