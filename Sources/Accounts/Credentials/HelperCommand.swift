import Foundation
import HTTPTransport

/// A program of the user's that prints a password: `pass show cloud`, `secret-tool lookup …`.
struct HelperCommand {
    private let words: [String]
    /// In seconds.
    private static let timeLimit = 120.0

    init(_ words: [String]) { self.words = words }

    /// The first line of what it prints. Blocks.
    func run() throws(AccountError) -> Secret {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env", directoryHint: .notDirectory)
        process.arguments = words
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        do { try process.run() } catch { throw AccountError("\(words[0]): cannot be started: \(error)") }
        let timer = DispatchSource.makeTimerSource(queue: .global())
        timer.schedule(deadline: .now() + Self.timeLimit)
        timer.setEventHandler { process.terminate() }
        timer.resume()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        timer.cancel()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            throw AccountError(
                "\(words[0]): gave no password (status \(process.terminationStatus)); run it by hand to see why")
        }
        let line = String(decoding: data, as: UTF8.self).prefix { !$0.isNewline }
        guard !line.isEmpty else { throw AccountError("\(words[0]): printed nothing; its first line is the password") }
        return Secret(String(line))
    }
}
