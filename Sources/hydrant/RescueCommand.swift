import ArgumentParser
import Daemon
import Foundation

struct RescueCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rescue", abstract: "Copy modified documents out of a state directory whose catalog is lost.",
        discussion: """
            Needs neither the catalog nor the store, and changes nothing in the state directory. Copies every document \
            with changes that the store has not confirmed to its path below TARGET, where rescue.json lists the source \
            of each. A document that was only partly here becomes NAME.partial; NAME.partial.ranges lists its real \
            bytes. The path of a document whose folder was renamed after the change may have the folder's old name.

            Example: hydrant rescue ~/.local/share/hydrant/domains/dir-documents-1f2e3d ~/rescued

            Exit status: 0 everything is in TARGET, or there was nothing to rescue; 1 a document could not be rescued.
            """)

    @Argument(help: "The domain's state directory; no daemon may be using it.", completion: .directory)
    var stateDir: String

    @Argument(help: "An empty directory, or one that does not exist.", completion: .directory)
    var target: String

    @Flag(help: "Copy all other whole files as well, as lost+found/INODE.GENERATION.")
    var all = false

    @Flag(help: "Only list the documents that would be rescued.")
    var dryRun = false

    @Flag(help: "Print an array of objects, as in rescue.json: path, size, source, isPartial, failure, …")
    var json = false

    func run() throws {
        let report: Rescue.Report
        do {
            report = try Rescue(stateDirectory: stateDir, target: target, takesAll: all).run(dryRun: dryRun)
        } catch {
            throw fail("\(error)")
        }
        if json {
            print(Output.json(report.files))
            if !report.failed.isEmpty { throw ExitCode(CommandExit.failed) }
            return
        }
        if let problem = report.catalogProblem {
            print("the catalog cannot be used (\(problem)); using the files' own labels instead")
        }
        for file in report.files {
            if let failure = file.failure {
                _ = fail("\(file.path): not rescued: \(failure); its bytes are in \(file.source)")
            } else {
                print(
                    "\(Output.bytes(file.size).padding(toLength: 14, withPad: " ", startingAt: 0))\(file.path)"
                        + (file.isPartial ? "  [partial]" : ""))
            }
        }
        summarize(report)
        if !report.failed.isEmpty { throw ExitCode(CommandExit.failed) }
    }

    private func summarize(_ report: Rescue.Report) {
        let count = report.rescued.count
        guard count > 0 else {
            if report.failed.isEmpty {
                print(
                    "nothing to rescue: no file in \(stateDir) is marked as modified"
                        + (all ? "" : "; --all copies every whole file"))
            }
            return
        }
        let documents = count == 1 ? "1 document" : "\(count) documents"
        if dryRun {
            print("\(documents), \(Output.bytes(report.bytes)), would be copied to \(target)")
        } else {
            print("\(documents), \(Output.bytes(report.bytes)), rescued to \(target); see \(target)/\(Rescue.manifest)")
            print(
                "next: check the documents, move \(stateDir) aside, mount the store again, and copy the documents to keep into it"
            )
        }
    }
}
