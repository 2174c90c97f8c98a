import ChildProcess
import Foundation

/// `hydrant login` for a domain, with a password that was typed into a picker.
enum SignInCommand {
    static func run(_ provider: PickerProvider, _ password: String) async throws {
        guard let daemon = provider.mountPoint.flatMap({ Self.executable(serving: $0) }) else {
            throw DocumentPickerError(
                "\(provider.title): run hydrant login \(provider.domain ?? provider.id) in a terminal")
        }
        var said = ""
        for name in [provider.domain, provider.storeLocation].compactMap({ $0 }) {
            let (status, text) = try await onThread { try login(daemon, name, password) }
            if status == 0 { return }
            said = text
            // A domain mounted without a name is not in config.toml: the next name to try is its URL.
            if !text.contains("is no domain") { break }
        }
        throw DocumentPickerError(said.isEmpty ? "\(provider.title): could not sign in" : said)
    }

    private static func executable(serving mountPoint: String) -> String? {
        guard let process = ServingExecutable.path(of: mountPoint),
            (process as NSString).lastPathComponent == "hydrant"
        else { return nil }
        return process
    }

    private static func login(_ executable: String, _ name: String, _ password: String) throws -> (Int32, String) {
        let ending: ChildProcess.Ending
        do {
            ending = try ChildProcess([executable, "login", name, "--password-stdin"], limit: .seconds(300))
                .run(input: Array((password + "\n").utf8), reading: .standardError)
        } catch { throw DocumentPickerError("hydrant login \(name): \(error)") }
        let text = String(decoding: ending.printed, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return (ending.status, text.hasPrefix("hydrant: ") ? String(text.dropFirst(9)) : text)
    }
}
