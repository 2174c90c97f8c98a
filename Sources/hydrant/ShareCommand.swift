import Accounts
import ArgumentParser
import ControlAPI
import Foundation
import HTTPTransport

struct ShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share",
        abstract: "Make a public link to a document or folder of the store, list or end its links.",
        discussion: """
            Everybody who has the link can open the item as it is in the store, without an account there; with --edit \
            also change it, and in a folder add and delete items. The command prints the link once the store has made \
            it, and not at all when the store refuses the password, the date or the right to edit. The store decides \
            when links end that have no date. Needs a store that gives out links, such as Nextcloud.

            Examples:
              hydrant share ~/Cloud/report.odt
              hydrant share ~/Cloud/photos --until 2026-12-31 --password-stdin < password.txt
              hydrant share ~/Cloud/photos --list --json | jq -r '.[].url'
              hydrant share ~/Cloud/photos --end 7
              hydrant share ~/Cloud/photos --end
            """)

    @Argument(help: "A document or folder in a mount.", completion: .file())
    var path: String

    @Argument(help: ArgumentHelp("With --end: the link to end, as --list shows it; default: all.", valueName: "id"))
    var link: String?

    @Flag(help: "List the item's links that you have made.")
    var list = false

    @Flag(help: "End the item's links, or one of them: nobody opens the item with it any more.")
    var end = false

    @Flag(help: "Ask whoever opens the link for the password on standard input's first line.")
    var passwordStdin = false

    @Option(help: ArgumentHelp("The last day on which the link is good.", valueName: "yyyy-mm-dd"))
    var until: String?

    @Flag(help: "Allow changes with the link.")
    var edit = false

    @Flag(
        help:
            "Print an array of the links made, listed or ended: id, url, hasPassword, until (in s since 1970), edits."
    )
    var json = false

    func validate() throws {
        if list && end { throw ValidationError("--list and --end exclude each other") }
        if (list || end) && (passwordStdin || until != nil || edit) {
            throw ValidationError("--password-stdin, --until and --edit are for a new link")
        }
        if link != nil && !end { throw ValidationError("name a link only with --end") }
        if let until {
            guard let moment = try Self.moment(after: until), moment > Date() else {
                throw ValidationError("--until \(until): this day is over")
            }
        }
    }

    /// The end of a day, in this machine's time zone.
    private static func moment(after day: String) throws -> Date? {
        let parts = day.split(separator: "-", omittingEmptySubsequences: false).map { part in
            part.utf8.allSatisfy { (48...57).contains($0) } ? Int(part) : nil
        }
        let calendar = Calendar(identifier: .gregorian)
        guard parts.count == 3, day.utf8.count == 10, let year = parts[0], let month = parts[1], let number = parts[2],
            case let wanted = DateComponents(calendar: calendar, year: year, month: month, day: number),
            wanted.isValidDate(in: calendar), let begin = calendar.date(from: wanted)
        else { throw ValidationError("--until \(day): write the day as 2026-12-31") }
        return calendar.date(byAdding: .day, value: 1, to: begin)
    }

    func run() async throws {
        let mounted = try MountedPath(path)
        let links = try await links(mounted, request())
        if json { return print(Output.json(links)) }
        for one in links { print(end ? "\(one.id)  ended" : list ? line(one) : one.url) }
    }

    private func request() throws -> LinkRequest {
        if list { return .list }
        if end { return .end(id: link) }
        var password: String?
        if passwordStdin {
            do { password = try PasswordInput.read().revealed } catch { throw fail("\(error)") }
            if let count = password?.utf8.count, count > LinkRequest.longestPassword {
                throw fail("the password has \(count) bytes, more than \(LinkRequest.longestPassword)")
            }
        }
        let moment = try until.flatMap { try Self.moment(after: $0) }
        return .make(password: password, until: moment?.timeIntervalSince1970, edits: edit)
    }

    private func links(_ mounted: MountedPath, _ request: LinkRequest) async throws -> [LinkStatus] {
        guard case .links(let links) = try await ask(mounted.mountPoint, .links(path: mounted.relative, request)) else {
            throw fail("\(path): unexpected answer from the daemon; unmount and mount again")
        }
        return links
    }

    private func line(_ link: LinkStatus) -> String {
        var facts = [link.hasPassword ? "with a password" : "for everybody", link.edits ? "to edit" : "to read"]
        if let until = link.until {
            // (The last day, not the moment after it.)
            let last = Date(timeIntervalSince1970: until - 1)
            facts.append("until " + last.formatted(Date.ISO8601FormatStyle(timeZone: .current).year().month().day()))
        }
        return "\(link.id)  \(link.url)  \(facts.joined(separator: ", "))"
    }
}
