import Foundation
import Testing
import UniformTypes

@Suite("Uniform types")
struct UniformTypeTests {
    static let image = UniformType("public.image")
    /// No machine's: the built-in ones alone.
    static let bare = UniformTypeTable(dataDirectories: [])

    /// A machine's own database.
    private static func table(globs: String = "", aliases: String = "", subclasses: String = "") throws
        -> UniformTypeTable
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: "hydrant-types-\(UUID().uuidString)")
        let mime = folder.appending(path: "mime")
        try FileManager.default.createDirectory(at: mime, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in [("globs2", globs), ("aliases", aliases), ("subclasses", subclasses)] {
            try Data(text.utf8).write(to: mime.appending(path: name))
        }
        return UniformTypeTable(dataDirectories: [folder.path(percentEncoded: false)])
    }

    @Test(
        "types of document names, with and without the machine's database",
        arguments: [
            ("photo.jpg", "public.jpeg"), ("PHOTO.JPEG", "public.jpeg"), ("notes.txt", "public.plain-text"),
            ("letter.odt", "org.oasis-open.opendocument.text"), ("paper.pdf", "com.adobe.pdf"),
            ("a.tar.gz", "org.gnu.gnu-zip-tar-archive"),
            ("report.docx", "org.openxmlformats.wordprocessingml.document"),
            ("README.md", "net.daringfireball.markdown"), ("run.sh", "public.shell-script"),
            ("film.mkv", "org.matroska.mkv"),
        ])
    func names(name: String, identifier: String) {
        #expect(Self.bare.type(ofFilename: name).identifier == identifier)
        #expect(UniformTypeTable.system.type(ofFilename: name).identifier == identifier)
    }

    @Test("a type conforms to itself, to its declared types, and to the types that they conform to")
    func conformance() {
        let table = Self.bare
        let jpeg = UniformType("public.jpeg")
        #expect(table.conforms(jpeg, to: jpeg))
        #expect(table.conforms(jpeg, to: Self.image))
        #expect(table.conforms(jpeg, to: .content))
        #expect(table.conforms(jpeg, to: .data))
        #expect(table.conforms(jpeg, to: .item))
        #expect(table.conforms(jpeg, to: UniformType("PUBLIC.IMAGE")))
        #expect(!table.conforms(Self.image, to: jpeg))
        #expect(!table.conforms(jpeg, to: UniformType("public.text")))
        #expect(!table.conforms(.folder, to: .content))
        #expect(table.conforms(UniformType("org.example.own"), to: UniformType("org.example.own")))
        #expect(!table.conforms(UniformType("org.example.own"), to: .content))
        #expect(table.conforms(jpeg, toAnyOf: []))
        #expect(!table.conforms(jpeg, toAnyOf: [UniformType("public.text"), .folder]))
        // Every type that is declared comes down to something, without a circle.
        for name in ["odt", "ods", "odp", "svg", "eml", "zip", "heic", "csv", "ttf", "sqlite"] {
            #expect(table.conforms(table.type(ofFilename: "x.\(name)"), to: .content), "\(name)")
            #expect(table.conforms(table.type(ofFilename: "x.\(name)"), to: .data), "\(name)")
        }
    }

    @Test("a type without an identifier is its MIME type, and conforms as the machine's database says")
    func mimeTypes() throws {
        let table = try Self.table(
            globs: """
                # a comment
                50:image/jpeg:*.jpg
                50:application/x-recipe+xml:*.recipe
                60:text/x-special:*.special
                50:text/x-other:*.special
                50:text/x-makefile:Makefile
                50:text/x-case:*.C:cs
                40:text/x-readme:README*

                """, aliases: "text/recipe application/x-recipe+xml\n",
            subclasses: "application/x-recipe+xml application/xml\ntext/x-special text/plain\n")
        let recipe = table.type(ofFilename: "cake.recipe")
        #expect(recipe.identifier == "dyn.mime.application/x-recipe+xml")
        #expect(table.conforms(recipe, to: UniformType("public.xml")))
        #expect(table.conforms(recipe, to: UniformType("public.text")))
        #expect(table.conforms(recipe, to: .content))
        #expect(table.mimeType(of: recipe) == "application/x-recipe+xml")
        #expect(table.type(ofMIMEType: "text/recipe; charset=utf-8") == recipe)
        #expect(table.type(ofFilename: "a.special").identifier == "dyn.mime.text/x-special")
        #expect(table.conforms(table.type(ofFilename: "a.special"), to: UniformType("public.plain-text")))
        #expect(table.type(ofFilename: "Makefile").identifier == "dyn.mime.text/x-makefile")
        #expect(table.type(ofFilename: "x.C").identifier == "dyn.mime.text/x-case")
        #expect(table.type(ofFilename: "x.c").identifier == "public.c-source")
        #expect(table.type(ofFilename: "README.first").identifier == "dyn.mime.text/x-readme")
        // What nobody knows is a document all the same.
        let unknown = table.type(ofFilename: "what.is-this")
        #expect(table.conforms(unknown, to: .content))
        #expect(!table.conforms(unknown, to: UniformType("public.text")))
        #expect(table.mimeType(of: UniformType("public.jpeg")) == "image/jpeg")
        #expect(table.conforms(table.type(ofMIMEType: "image/x-unheard-of"), to: Self.image))
    }

    @Test("all ways to write a type: an identifier, a MIME type, a class of MIME types, an extension")
    func named() {
        let table = Self.bare
        #expect(table.type(named: "public.image") == Self.image)
        #expect(table.type(named: "image/png")?.identifier == "public.png")
        #expect(table.type(named: "image/*") == Self.image)
        #expect(table.type(named: "*/*") == .item)
        #expect(table.type(named: ".pdf")?.identifier == "com.adobe.pdf")
        #expect(table.type(named: "pdf")?.identifier == "com.adobe.pdf")
        #expect(table.type(named: "org.example.own")?.identifier == "org.example.own")
        for wrong in ["", "colour/*", "image/", "/png", "a b", "nonsense", ".nonsense"] {
            #expect(table.type(named: wrong) == nil, "\(wrong)")
        }
    }
}
