import Foundation
import WebPage

do {
    try await WebProgram(Array(CommandLine.arguments.dropFirst())).run()
} catch {
    let message = (error as? WebProgram.Failure)?.message ?? "\(error)"
    FileHandle.standardError.write(Data("hydrant: web: \(message)\n".utf8))
    exit(1)
}
