import ArgumentParser
import ControlAPI
import DocumentInteraction
import Foundation
import UniformTypes

struct TypesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "types", abstract: "Register the types of documents that programs open, or list them.",
        discussion: """
            A program's manifest (TOML) lists the documents that it opens, and whether they are its own. Hydrant makes \
            a desktop entry, a package of shared-mime-info and icons from it, in $XDG_DATA_HOME, for file managers, \
            gio and xdg-mime.

              identifier = "org.example.notes"
              name = "Notes"
              program = "/usr/bin/notes"
              [[types]]
              identifier = "org.example.note"
              conforms-to = ["public.plain-text"]
              mime = "application/x-note"
              extensions = ["note"]
              [[documents]]
              name = "Note"
              types = ["org.example.note"]
              icons = ["note-48.png"]
              rank = "owner"

            Examples:
              hydrant types register notes.toml
              hydrant types list --json
              hydrant types unregister org.example.notes
              hydrant types of ~/Documents/a.note --json
            """,
        subcommands: [List.self, Register.self, Unregister.self, Of.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the types that programs have registered.", discussion: "Example: hydrant types list --json")

        @Flag(
            help: """
                Print an array of objects: identifier, name, program, documents (name, types, mimeTypes, rank), types \
                (identifier, name, conformsTo, mimeType, extensions).
                """)
        var json = false

        func run() async throws {
            let all = try await interacting { try await DocumentTypeRegistry().registered() }
            if json { return try StandardOutput.write(Output.json(all.map { Line($0) })) }
            for manifest in all {
                try StandardOutput.write(["\(manifest.identifier)  \(manifest.name)  (\(manifest.program))"])
                for document in manifest.documents {
                    let types = document.types.map(\.identifier).joined(separator: ", ")
                    let rank = document.isOwner ? "owner" : "alternate"
                    try StandardOutput.write([
                        "  \(rank.padding(toLength: 10, withPad: " ", startingAt: 0))\(document.name): \(types)"
                    ])
                }
            }
        }
    }

    struct Register: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register a program's types; replaces its earlier registration.",
            discussion: "Example: hydrant types register notes.toml")

        @Argument(help: "The manifest.", completion: .file(extensions: ["toml"]))
        var manifest: String

        @Flag(help: "Print the registration, in the form of list --json.")
        var json = false

        func run() async throws {
            try await interacting {
                let (manifest, notes) = try await DocumentTypeRegistry().register(manifestAt: ByteText.url(manifest))
                for note in notes { warn(note) }
                if json { return try StandardOutput.write(Output.json(Line(manifest))) }
                let names = manifest.documents.map(\.name).joined(separator: ", ")
                try StandardOutput.write(["\(manifest.identifier): registered for \(names)"])
            }
        }
    }

    struct Unregister: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a program's registration.",
            discussion: "Example: hydrant types unregister org.example.notes")

        @Argument(help: "The program's identifier.")
        var identifier: String

        @Flag(help: "Print an object: identifier.")
        var json = false

        func run() async throws {
            try await interacting {
                for note in try await DocumentTypeRegistry().unregister(identifier) { warn(note) }
            }
            if json { return try StandardOutput.write(Output.json(["identifier": identifier])) }
            try StandardOutput.write(["\(identifier): unregistered"])
        }
    }

    struct Of: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "of", abstract: "Show a document's type, icons and preview; download nothing.",
            discussion: "Example: hydrant types of ~/Documents/a.note --json")

        @Argument(help: "A document or a folder, in a mount or not.", completion: .file())
        var path: String

        @Flag(
            help: """
                Print an object: path, name, type, mimeType, icons (paths by size in pixels), preview (text, table, \
                pdf, picture, office or null), prints, here.
                """)
        var json = false

        func run() async throws {
            try await interacting {
                let document = try await DocumentInteractionController(url: ByteText.url(path))
                let shown = Found(
                    path: ByteText.shown(path), name: document.name, type: document.type.identifier,
                    mimeType: document.mimeType,
                    icons: Dictionary(
                        uniqueKeysWithValues: await document.icons().map { ("\($0)", $1.path(percentEncoded: false)) }),
                    preview: document.previewKind, prints: document.canPrint,
                    here: try await document.isDownloaded())
                if json { return try StandardOutput.write(Output.json(shown)) }
                try StandardOutput.write(["\(shown.name): \(shown.type) (\(shown.mimeType ?? "no MIME type"))"])
            }
        }

        private struct Found: Encodable {
            var path: String
            var name: String
            var type: String
            var mimeType: String?
            var icons: [String: String]
            var preview: PreviewKind?
            var prints: Bool
            var here: Bool
            private enum CodingKeys: String, CodingKey {
                case path, name, type, mimeType, icons, preview, prints, here
            }

            // By hand, to keep the keys of nil values.
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(path, forKey: .path)
                try container.encode(name, forKey: .name)
                try container.encode(type, forKey: .type)
                try container.encode(mimeType, forKey: .mimeType)
                try container.encode(icons, forKey: .icons)
                try container.encode(preview, forKey: .preview)
                try container.encode(prints, forKey: .prints)
                try container.encode(here, forKey: .here)
            }
        }
    }

    private struct Line: Encodable {
        struct Document: Encodable {
            var name: String
            var types: [String]
            var mimeTypes: [String]
            var rank: String
        }
        struct DeclaredType: Encodable {
            var identifier: String
            var name: String
            var conformsTo: [String]
            var mimeType: String
            var extensions: [String]
        }
        var identifier: String
        var name: String
        var program: String
        var documents: [Document]
        var types: [DeclaredType]

        init(_ manifest: DocumentTypesManifest) {
            identifier = manifest.identifier
            name = manifest.name
            program = manifest.program
            documents = manifest.documents.map {
                Document(
                    name: $0.name, types: $0.types.map(\.identifier), mimeTypes: $0.mimeTypes,
                    rank: $0.isOwner ? "owner" : "alternate")
            }
            types = manifest.declaredTypes.map {
                DeclaredType(
                    identifier: $0.identifier, name: $0.name, conformsTo: $0.conformsTo.map(\.identifier),
                    mimeType: $0.mimeType, extensions: $0.extensions)
            }
        }
    }
}
