import FileCoordination
import Foundation

/// Saves standard input as a document, as programs save, and sets its thumbnail:
///
///     plot <figures.csv | hydrant-give-picture ~/Documents/figures.csv figures.png
@main
enum PictureGiver {
    static func main() async throws {
        let words = CommandLine.arguments.dropFirst().map { URL(filePath: $0, directoryHint: .notDirectory) }
        guard words.count == 2 else { return print("usage: hydrant-give-picture DOCUMENT PICTURE <CONTENTS") }
        let (document, picture) = (words[0], try Data(contentsOf: words[1]))
        let contents = FileHandle.standardInput.readDataToEndOfFile()
        let saved = try await FileCoordinator().coordinate(writingItemAt: document, options: .forReplacing) {
            @Sendable url in
            // Write beside the document, then rename over it: a reader sees the old contents or the new ones.
            let draft = url.deletingLastPathComponent().appending(path: ".\(UUID().uuidString)~")
            try contents.write(to: draft)
            let saved = try DocumentThumbnails.Contents(of: draft)
            guard rename(draft.path(percentEncoded: false), url.path(percentEncoded: false)) == 0 else {
                throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: url.path(percentEncoded: false)])
            }
            return saved
        }
        // If somebody has changed the document since, the picture does not show its contents.
        do {
            let place = try await DocumentThumbnails.set(picture, of: document, contents: saved)
            print(place == .store ? "other machines see it, too" : "this machine shows it")
        } catch let error as CoordinationError where error.code == .otherContents {
            print("somebody has changed it meanwhile")
        }
    }
}
