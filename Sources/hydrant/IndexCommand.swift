import ArgumentParser
import ControlAPI

struct IndexCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "index", abstract: "Index the texts of documents that are here, for hydrant find text:WORDS.",
        discussion: """
            Off unless you turn it on, and nothing is ever downloaded for it. Texts, markup and source code are read as they are \
            (the first 4 MiB), PDF by pdftotext (poppler-utils) where it is installed. What is evicted is not found any more. \
            off removes the index.

            Examples:
              hydrant index on ~/Documents
              hydrant find 'text:\"net income\"' kind:pdf
              hydrant index
            """)

    @OptionGroup
    var mount: MountSetting

    @Flag(help: "Print an object: on, documents (with a text in the index), busy (some are still to be read).")
    var json = false

    func run() async throws {
        let mountPoint = try mount.point
        guard case .textIndex(let status) = try await ask(mountPoint, .textIndex(isOn: mount.isOn), timeout: 60) else {
            throw fail("\(mountPoint): the daemon gave another answer; is it of another version?")
        }
        if json { return print(Output.json(status)) }
        let texts = "\(status.documents == 1 ? "1 document" : "\(status.documents) documents")"
        print("\(mountPoint): \(status.isOn ? "on, \(texts)\(status.isBusy ? ", and more to come" : "")" : "off")")
    }
}
