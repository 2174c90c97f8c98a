import ArgumentParser
import FileCoordination
import Foundation

import enum ControlAPI.ByteText

struct BookmarkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bookmark", abstract: "Name items for as long as they exist, and find them again.",
        discussion: """
            A bookmark is one word. It names an item through renames, moves, evictions, restarts and remounts, and can \
            carry a right to the item, for programs that see nothing else of the domain (hydrant access).

            Examples:
              hydrant bookmark make ~/Documents/letter.odt > letter.bookmark
              hydrant bookmark resolve "$(cat letter.bookmark)"
            """,
        subcommands: [Make.self, Resolve.self, Renew.self, Show.self])

    struct Make: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a bookmark of an item.",
            discussion: """
                Examples:
                  hydrant bookmark make ~/Documents/letter.odt --values name,size,type
                  hydrant bookmark make ~/Documents/photos --grant read --days 7
                  hydrant bookmark make report.odt --grant write --for /usr/bin/soffice --json | jq -r .bookmark
                """)

        @Argument(help: "The item.", completion: .file())
        var path: String

        @Option(
            help: ArgumentHelp(
                "Attributes to put into the bookmark: name, size, type, contentModificationDate, creationDate; separated by commas.",
                valueName: "keys"))
        var values: String?

        @Option(help: "Put a right to the item into the bookmark: read, or write (which includes read).")
        var grant: Right?

        enum Right: String, CaseIterable, ExpressibleByArgument { case read, write }

        @Option(
            name: .customLong("for"),
            help: ArgumentHelp("Only this executable may use the right.", valueName: "executable"), completion: .file())
        var program: String?

        @Option(
            help: ArgumentHelp("Days until the right ends; default: it is valid until revoked.", valueName: "number"))
        var days: Double?

        @Flag(help: "Print an object: bookmark, path.")
        var json = false

        func validate() throws {
            if grant == nil && (program != nil || days != nil) {
                throw ValidationError("--for and --days need --grant")
            }
            if let days, !(days > 0 && days < 1_000_000) {
                throw ValidationError("--days: choose a number above 0 and below a million")
            }
            _ = try keys()
        }

        private func keys() throws -> Set<ResourceKey> {
            Set(
                try (values ?? "").split(separator: ",").map { word in
                    guard let key = ResourceKey(rawValue: word.trimmingCharacters(in: .whitespaces)) else {
                        throw ValidationError(
                            "--values \(word): choose of \(ResourceKey.allCases.map(\.rawValue).joined(separator: ", "))"
                        )
                    }
                    return key
                })
        }

        private struct Made: Encodable {
            var bookmark: String
            var path: String
        }

        func run() async throws {
            let executable = try program.map { try Executable.find($0) }
            let scope = grant.map {
                SecurityScope(
                    $0 == .write ? .write : .read, for: executable,
                    until: days.map { Date(timeIntervalSinceNow: $0 * 86_400) })
            }
            let url = ByteText.url(path)
            let bookmark = try await saying { try await Bookmark.make(of: url, including: keys(), scope: scope) }
            let made = Made(bookmark: bookmark.text, path: ByteText.shown(ByteText.text(of: url.standardizedFileURL)))
            try json ? StandardOutput.write(Output.json(made)) : StandardOutput.write([bookmark.text])
        }
    }

    struct Resolve: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the path of a bookmark's item.",
            discussion: """
                When the item differs from the bookmark (another place, another size), a line on standard \
                error names the differences. hydrant bookmark renew makes a new bookmark.

                Examples:
                  hydrant bookmark resolve "$(cat letter.bookmark)"
                  hydrant bookmark resolve ~/Projects/letter.odt.hydrant-reference --json | jq .stale

                Exit status: 1 the item is gone, or this is no bookmark; 69 no mounted domain made it.
                """)

        @Argument(help: "The bookmark, or a file that holds it; - is standard input.", completion: .file())
        var bookmark: String

        @Flag(help: "Print an object: path, stale, values, writable (null without a right).")
        var json = false

        private struct Found: Encodable {
            var path: String
            var stale: [String]
            var values: [String: BookmarkValue]
            var writable: Bool?

            private enum CodingKeys: String, CodingKey { case path, stale, values, writable }

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(path, forKey: .path)
                try container.encode(stale, forKey: .stale)
                try container.encode(values, forKey: .values)
                try container.encode(writable, forKey: .writable)
            }
        }

        func run() async throws {
            let bookmark = try Bookmark(named: bookmark)
            let found = try await saying { try await bookmark.resolve() }
            let path = ByteText.text(of: found.url)
            let stale = found.stale.sorted()
            if json {
                return try StandardOutput.write(
                    Output.json(
                        Found(
                            path: ByteText.shown(path), stale: stale,
                            values: BookmarkValue.all(of: found.resourceValues),
                            writable: found.scopedURL?.isWritable)))
            }
            try StandardOutput.write(paths: [path])
            if found.isStale {
                warn("the bookmark is stale (\(stale.joined(separator: ", "))); renew it with hydrant bookmark renew")
            }
        }
    }

    struct Renew: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a new bookmark of a bookmark's item.",
            discussion: """
                For a stale bookmark. The new one carries the same right; the old one stays valid.

                Example:
                  hydrant bookmark renew letter.bookmark > new && mv new letter.bookmark

                Exit status: as hydrant bookmark resolve.
                """)

        @Argument(help: "The bookmark, or a file that holds it; - is standard input.", completion: .file())
        var bookmark: String

        @Flag(help: "Print an object: bookmark.")
        var json = false

        func run() async throws {
            let bookmark = try Bookmark(named: bookmark)
            let text = try await saying { try await bookmark.renewed() }.text
            if json { return try StandardOutput.write(Output.json(["bookmark": text])) }
            try StandardOutput.write([text])
        }
    }

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the contents of a bookmark, without asking a daemon.",
            discussion: """
                Prints the domain, the place in it, the right (none, read or write), and the values that were asked \
                for, all as they were when the bookmark was made. Only hydrant bookmark resolve checks that the \
                bookmark is genuine; hydrant grants shows whether the right is still valid.

                Examples:
                  hydrant bookmark show "$(cat letter.bookmark)" --json | jq -r .path
                """)

        @Argument(help: "The bookmark, or a file that holds it; - is standard input.", completion: .file())
        var bookmark: String

        @Flag(help: "Print an object: domain, path, right, and the bookmark's values.")
        var json = false

        func run() throws {
            guard let contents = try Bookmark(named: bookmark).contents else {
                throw fail("this is not a bookmark of hydrant's, or only a part of one")
            }
            var all = BookmarkValue.all(of: contents.resourceValues)
            all["domain"] = .text(contents.domain)
            all["path"] = .text(contents.path)
            all["right"] = .text(contents.right.rawValue)
            if json { return try StandardOutput.write(Output.json(all)) }
            for key in ["domain", "path", "right"] + ResourceKey.allCases.map(\.rawValue) {
                if let value = all[key] { try StandardOutput.write(["\(key): \(value)"]) }
            }
        }
    }
}

/// A value that a bookmark holds: in JSON, or as a line.
enum BookmarkValue: Encodable, CustomStringConvertible {
    case text(String)
    case number(Int64)

    static func all(of values: ResourceValues) -> [String: BookmarkValue] {
        let dates = [
            ("contentModificationDate", values.contentModificationDate), ("creationDate", values.creationDate),
        ].compactMap { key, date in date.map { (key, BookmarkValue.text($0.formatted(.iso8601))) } }
        let others: [(String, BookmarkValue?)] = [
            ("name", values.name.map { .text($0) }), ("size", values.size.map { .number($0) }),
            ("type", values.type.map { .text($0) }),
        ]
        return Dictionary(uniqueKeysWithValues: dates + others.compactMap { key, value in value.map { (key, $0) } })
    }

    var description: String {
        switch self {
        case .text(let text): text
        case .number(let number): "\(number)"
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .number(let number): try container.encode(number)
        }
    }
}

extension Bookmark {
    /// - Parameter text: the bookmark itself, a file that holds it, or `-` for standard input.
    init(named text: String) throws(ExitCode) {
        if let bookmark = Bookmark(text: text), bookmark.resourceValues != nil {
            self = bookmark
            return
        }
        let contents =
            text == "-"
            ? FileHandle.standardInput.readDataToEndOfFile() : FileManager.default.contents(atPath: text)
        guard let contents else { throw fail("\(text): neither a bookmark nor a file that holds one") }
        guard let bookmark = Bookmark(text: String(decoding: contents, as: UTF8.self)) else {
            throw fail("\(text): the file holds no bookmark")
        }
        self = bookmark
    }
}

/// A program's executable file, links followed.
enum Executable {
    static func find(_ name: String) throws(ExitCode) -> String {
        let candidates =
            name.contains("/")
            ? [name] : (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(name)" }
        for candidate in candidates where access(candidate, X_OK) == 0 {
            guard let resolved = realpath(candidate, nil) else { continue }
            defer { free(resolved) }
            return String(cString: resolved)
        }
        throw fail("\(name): no such program")
    }
}

/// Runs a body that talks to a daemon, and prints its error.
func saying<T>(_ body: () async throws -> T) async throws -> T {
    do { return try await body() } catch let error as CoordinationError {
        let status =
            switch error.code {
            case .notRunning, .notInADomain: CommandExit.unavailable
            case .timedOut, .wouldDeadlock: CommandExit.tryAgain
            default: CommandExit.failed
            }
        throw fail(error.message, status)
    }
}
