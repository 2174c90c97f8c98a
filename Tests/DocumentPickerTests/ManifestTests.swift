import Foundation
import Testing
import UniformTypes

@testable import DocumentPicker

@Suite("Manifests of document pickers")
struct ManifestTests {
    private func refusal(_ text: String) -> String? {
        do {
            _ = try DocumentPickerManifest(toml: text)
            return nil
        } catch { return (error as? DocumentPickerError)?.message ?? "another error: \(error)" }
    }

    @Test("identifier, name, icon, modes, types, group, provider, program")
    func whole() throws {
        let manifest = try DocumentPickerManifest(
            toml: """
                identifier = "org.example.notes.picker"
                name = "Notes"
                icon = "accessories-text-editor"
                modes = ["import", "open"]
                types = ["public.text", "image/*", ".pdf"]
                group = "org.example.notes"
                provider = "org.example.notes"
                program = "/usr/lib/notes/picker"
                """)
        #expect(manifest.identifier == "org.example.notes.picker")
        #expect(manifest.name == "Notes")
        #expect(manifest.icon == "accessories-text-editor")
        #expect(manifest.modes == [.import, .open])
        #expect(manifest.supportedTypes.map(\.identifier) == ["public.text", "public.image", "com.adobe.pdf"])
        #expect(manifest.documentGroup == "org.example.notes")
        #expect(manifest.fileProvider == "org.example.notes")
        #expect(manifest.program == "/usr/lib/notes/picker")
        #expect(!manifest.isDropBox)
        let box = try DocumentPickerManifest(
            toml: "identifier = \"a\"\nname = \"A\"\nmodes = [\"export\"]\nprovider = \"x\"")
        #expect(box.isDropBox)
        #expect(box.supportedTypes == [.content])
    }

    @Test("no open and no move without a file provider; other mistakes are reported as well")
    func refusals() {
        let base = "identifier = \"a\"\nname = \"A\"\nprogram = \"/bin/true\"\n"
        #expect(refusal(base + "modes = [\"import\", \"export\"]") == nil)
        #expect(refusal(base + "modes = [\"import\", \"open\"]")?.contains("the mode open needs provider") == true)
        #expect(refusal(base + "modes = [\"move\"]")?.contains("the mode move needs provider") == true)
        #expect(refusal(base + "modes = [\"open\"]\nprovider = \"p\"") == nil)
        #expect(refusal(base + "modes = [\"borrow\"]")?.contains("“borrow” is not a mode") == true)
        #expect(refusal(base + "modes = []")?.contains("no modes") == true)
        #expect(refusal(base + "modes = [\"import\"]\ntypes = [\"x y\"]")?.contains("“x y” is not a type") == true)
        #expect(refusal(base + "modes = [\"import\"]\ngroup = \"../x\"")?.contains("not a document group") == true)
        #expect(refusal("identifier = \"a\"\nname = \"A\"\nmodes = [\"import\"]")?.contains("needs program") == true)
        #expect(refusal("name = \"A\"")?.contains("needs identifier") == true)
        #expect(refusal("modes = [")?.contains("needs identifier") == true)
    }
}

@Suite("The document menu")
struct DocumentMenuTests {
    static func provider(
        _ id: String, _ modes: Set<DocumentPickerMode> = Set(DocumentPickerMode.allCases),
        types: [String] = ["public.item", "public.content"]
    ) -> PickerProvider {
        PickerProvider(
            id: id,
            manifest: DocumentPickerManifest(
                identifier: id, name: id, modes: modes, supportedTypes: types.map { UniformType($0) }, fileProvider: "p"
            ),
            mountPoint: "/\(id)", storeLocation: nil, domain: id, isReadOnly: false, problem: nil)
    }

    private func titles(_ items: [DocumentMenu.Item]) -> [String] {
        items.map { item in
            switch item {
            case .option(let option): "(\(option.title))"
            case .provider(let provider): provider.id
            }
        }
    }

    @Test(
        "domains that fit mode and types, in the user's order, some switched off; the program's options first or last"
    )
    func items() {
        let all = [
            Self.provider("a"), Self.provider("b", [.import]), Self.provider("c", types: ["public.image"]),
            Self.provider("d", types: ["public.text"]), Self.provider("e"),
        ]
        var menu = DocumentMenu(mode: .open, types: [UniformType("public.jpeg")])
        var preferences = PickerPreferences()
        #expect(titles(menu.items(all, preferences)) == ["a", "c", "e"])
        preferences.order = ["e", "nobody", "a"]
        preferences.off = ["c"]
        #expect(titles(menu.items(all, preferences)) == ["e", "a"])
        menu.addOption(title: "camera", order: .first) {}
        menu.addOption(title: "trash", order: .last) {}
        menu.addOption(title: "clipboard", image: "edit-paste", order: .first) {}
        #expect(titles(menu.items(all, preferences)) == ["(camera)", "(clipboard)", "e", "a", "(trash)"])
        // One who has pictures may have what a program takes that takes everything.
        let anything = DocumentMenu(mode: .import, types: [.content])
        #expect(titles(anything.items(all, PickerPreferences())) == ["a", "b", "c", "d", "e"])
        #expect(titles(DocumentMenu(mode: .import).items(all, PickerPreferences())) == ["a", "b", "c", "d", "e"])
    }

    /// Does one thing when the menu is shown.
    private struct Front: DocumentPickerFront {
        let chosen: String
        let stream: AsyncStream<PickerAction>
        let inbox: AsyncStream<PickerAction>.Continuation

        init(chosen: String) {
            self.chosen = chosen
            (stream, inbox) = AsyncStream<PickerAction>.makeStream()
        }

        func show(_ view: PickerView) async {
            guard view.screen == .menu, let entry = view.menu.first(where: { $0.title == chosen }) else { return }
            inbox.yield(.choose(entry.id))
        }
        func actions() -> AsyncStream<PickerAction> { stream }
    }

    @Test("an option of the program: the picker closes, and calls the handler of the option")
    func option() async throws {
        let (calls, inbox) = AsyncStream<String>.makeStream()
        var menu = DocumentMenu(mode: .import)
        menu.addOption(title: "Camera", order: .first) { inbox.yield("camera") }
        menu.addOption(title: "Clipboard", order: .last) { inbox.yield("clipboard") }
        var picker = try DocumentPicker(menu: menu, source: nil)
        picker.showsMenu = true
        #expect(try await picker.present(on: Front(chosen: "Clipboard")).map(\.url) == nil)
        inbox.finish()
        var called: [String] = []
        for await call in calls { called.append(call) }
        #expect(called == ["clipboard"])
    }

    @Test("actions and views are JSON that any language can write and read")
    func json() throws {
        let actions: [(String, PickerAction)] = [
            (#"{"do":"choose","id":"a/b"}"#, .choose("a/b")), (#"{"do":"up"}"#, .up),
            (#"{"do":"location","index":2}"#, .location(2)),
            (#"{"do":"search","text":"x"}"#, .search("x")), (#"{"do":"makeFolder","text":"New"}"#, .makeFolder("New")),
            (#"{"do":"putHere"}"#, .putHere(nil)), (#"{"do":"putHere","text":"n"}"#, .putHere("n")),
            (#"{"do":"providers"}"#, .providers), (#"{"do":"cancelTransfer"}"#, .cancelTransfer),
            (#"{"do":"dismiss"}"#, .dismiss),
            (#"{"do":"signIn","text":"pw"}"#, .signIn("pw")), (#"{"do":"cancel"}"#, .cancel),
        ]
        for (text, action) in actions {
            #expect(try JSONDecoder().decode(PickerAction.self, from: Data(text.utf8)) == action)
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            #expect(try JSONDecoder().decode(PickerAction.self, from: encoder.encode(action)) == action)
        }
        #expect(throws: (any Error).self) {
            try JSONDecoder().decode(PickerAction.self, from: Data(#"{"do":"fly"}"#.utf8))
        }
    }
}
