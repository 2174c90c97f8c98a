import ChildProcess
import HTTPTransport

/// A program of the user's that prints a password: `pass show cloud`, `secret-tool lookup …`.
struct HelperCommand {
    private let words: [String]
    private let limit: Duration

    init(_ words: [String], limit: Duration = .seconds(120)) {
        self.words = words
        self.limit = limit
    }

    /// The first line of its output. Blocks.
    func run() throws(AccountError) -> Secret {
        let ending: ChildProcess.Ending
        do throws(ChildProcess.Failure) {
            ending = try ChildProcess(words, limit: limit).run(reading: .standardOutput)
        } catch {
            switch error {
            case .notStarted: throw AccountError("\(words[0]): \(error)")
            case .tooSlow, .stopped:
                throw AccountError("\(words[0]): gave no password in time and was ended; run it by hand to see why")
            }
        }
        guard ending.status == 0 else {
            throw AccountError("\(words[0]): gave no password (status \(ending.status)); run it by hand to see why")
        }
        let line = String(decoding: ending.printed, as: UTF8.self).prefix { !$0.isNewline }
        guard !line.isEmpty else { throw AccountError("\(words[0]): printed nothing; its first line is the password") }
        return Secret(String(line))
    }
}
