import ArgumentParser
import ControlAPI

struct IndexCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "index", abstract: "Index the text of downloaded documents, for hydrant find text:WORDS.",
        discussion: """
            The index is off by default, and downloads nothing. It holds the first 4 MiB of texts, markup and source \
            code, and PDF through pdftotext (poppler-utils) where that is installed. Evicted documents leave it. off \
            removes the index.

            Examples:
              hydrant index on ~/Documents
              hydrant find 'text:\"net income\"' kind:pdf
              hydrant index
            """)

    @OptionGroup
    var mount: MountSetting

    @Flag(help: "Print an object: on, documents (how many are in the index), busy (documents are still to be read).")
    var json = false

    func run() async throws {
        let mountPoint = try mount.point
        guard case .textIndex(let status) = try await ask(mountPoint, .textIndex(isOn: mount.isOn), timeout: 60) else {
            throw fail("\(mountPoint): unexpected answer from the daemon; unmount and mount again")
        }
        if json { return print(Output.json(status)) }
        let texts = "\(status.documents == 1 ? "1 document" : "\(status.documents) documents")"
        print("\(mountPoint): \(status.isOn ? "on, \(texts)\(status.isBusy ? ", still reading" : "")" : "off")")
    }
}
