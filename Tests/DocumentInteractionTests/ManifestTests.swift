import Testing
import UniformTypes

@testable import DocumentInteraction

@Suite("Manifests of document types")
struct ManifestTests {
    private static let whole = """
        identifier = "org.example.notes"
        name = "Notes & more"
        program = "/bin/sh"
        arguments = ["--edit me", "%f"]
        dbus-arguments = ["--gapplication-service"]
        [[types]]
        identifier = "org.example.note"
        conforms-to = ["public.plain-text", "public.data"]
        extensions = [".note", "nt"]
        [[types]]
        identifier = "org.example.bundle"
        name = "Bundle <1>"
        mime = "Application/X-Bundle"
        [[documents]]
        name = "Note"
        types = ["org.example.note", "org.example.bundle"]
        rank = "owner"
        [[documents]]
        name = "Text"
        types = ["public.plain-text", "image/*"]
        """

    @Test("a manifest names the types that a program opens, and becomes a desktop entry and a MIME package")
    func reads() throws {
        let manifest = try DocumentTypesManifest(toml: Self.whole)
        #expect(manifest.declaredTypes.map(\.mimeType) == ["application/vnd.org.example.note", "application/x-bundle"])
        #expect(manifest.declaredTypes[0].name == "Note" && manifest.declaredTypes[0].extensions == ["note", "nt"])
        #expect(manifest.documents.map(\.isOwner) == [true, false])
        #expect(manifest.documents[1].mimeTypes.contains("image/png"))
        let entry = DesktopEntry.text(manifest, icon: nil, executable: "/bin/sh")
        #expect(entry.contains("\nExec=/bin/sh \"--edit me\" %f\n") && entry.contains("\nDBusActivatable=true\n"))
        #expect(entry.contains("\nX-Hydrant-Owner=application/vnd.org.example.note;application/x-bundle;\n"))
        let xml = MIMEPackage.xml(manifest, icons: ["application/x-bundle": "application-x-bundle"])
        #expect(xml.contains("<comment>Bundle &lt;1&gt;</comment>") && xml.contains("pattern=\"*.note\""))
        #expect(xml.contains("<sub-class-of type=\"text/plain\"/>") && !xml.contains("octet-stream"))
        #expect(
            DesktopEntry.busService(manifest, executable: "/bin/sh")?.contains("Exec=/bin/sh --gapplication-service")
                == true)
    }

    @Test(
        "an invalid manifest is refused with a reason",
        arguments: [
            ("org.example.notes\"", "notes\"", "identifier"), ("\"org.example.notes", "\"../../x.y", "identifier"),
            ("\"Notes & more", "\"No\\ntes", "line end"),
            ("\"Notes & more", "\"No\\uFFFFtes", "control character"),
            ("\"Notes & more", "\"No\\u009btes", "control character"),
            ("name = \"Note\"", "name = \"\\uFFFE\"", "control character"),
            ("\".note\"", "\"n\\uFFFFt\"", "filename extension"),
            ("\"public.plain-text\", \"image/*\"", "\"not a type\"", "is not a type"),
            ("\"public.plain-text\", \"image/*\"", "\"com.nobody.knows\"", "declare it"),
            ("\"owner\"", "\"boss\"", "not a rank"), ("\".note\"", "\"no/te\"", "filename extension"),
            ("Application/X-Bundle", "bundle", "MIME type"),
            ("\"org.example.bundle\"\nname", "\"public.png\"\nname", "already"),
            ("program =", "programme =", "needs identifier"), ("types = [\"public", "types = 1 # [\"public", "needs"),
        ])
    func refuses(_ from: String, _ to: String, _ why: String) throws {
        let text = Self.whole.replacing(from, with: to)
        #expect(text != Self.whole)
        do {
            _ = try DocumentTypesManifest(toml: text)
            Issue.record("“\(to)” was taken")
        } catch let error as DocumentInteractionError {
            #expect(error.code == .badManifest && error.message.contains(why), "\(error)")
        }
    }

    @Test("key files keep groups and keys that are not Hydrant's")
    func keyFiles() throws {
        let file = try #require(KeyFile(text: Array("# mine\n[A]\nx=1;2;\n\n[B]\ny[de]=z\n".utf8)))
        #expect(file.strings("A", "x") == ["1", "2"])
        file.set("A", "x", ["2", "3"])
        file.set("C", "new", [])
        let text = file.text
        #expect(text.split(separator: "\n") == ["# mine", "[A]", "x=2;3;", "[B]", "y[de]=z"])
        // However often it is written.
        #expect(KeyFile(text: Array(text.utf8))?.text == text)
        #expect(KeyFile(text: Array("no group\n".utf8)) == nil)
        #expect(KeyFile(text: []) != nil)
    }
}
