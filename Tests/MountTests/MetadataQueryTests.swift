import ControlAPI
import FileCoordination
import Foundation
import MetadataQuery
import MountHarness
import QueryLanguage
import Testing
import UniformTypes
import WebDAVHarness

/// Queries from a process that is not the daemon's.
@Suite("Metadata queries at a real mount")
struct MetadataQueryTests {
    private static func seed(_ store: String) throws {
        let seeding = Seeding(store)
        try seeding.file("Report.txt", "first\n")
        try seeding.file("Résumé.pdf", String(repeating: "x", count: 5_000))
        try seeding.file("photos/IMG_1.jpg", String(repeating: "j", count: 300_000))
        try seeding.file("photos/report of a trip.odt", "trip")
    }

    /// The smallest that there is with a line of text.
    private static let makesPDF = """
        python3 - <<'PYTHON'
        text = b"BT /F1 12 Tf 72 720 Td (Quarterly figures) Tj ET"
        objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
            b"/Resources << /Font << /F1 5 0 R >> >> >>",
            b"<< /Length %d >>\\nstream\\n%s\\nendstream" % (len(text), text),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
        data, places = b"%PDF-1.4\\n", []
        for number, value in enumerate(objects, 1):
            places.append(len(data))
            data += b"%d 0 obj\\n%s\\nendobj\\n" % (number, value)
        start = len(data)
        data += b"xref\\n0 6\\n0000000000 65535 f \\n" + b"".join(b"%010d 00000 n \\n" % p for p in places)
        data += b"trailer\\n<< /Size 6 /Root 1 0 R >>\\nstartxref\\n%d\\n%%%%EOF\\n" % start
        open("figures.pdf", "wb").write(data)
        PYTHON
        """

    private func withDomain(
        _ options: MountOptions = MountOptions(), _ body: @escaping @Sendable (MountedStore) async throws -> Void
    ) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            // Somebody has looked into all of it.
            _ = try mount.run("ls -R .")
            let executor = ThreadExecutor()
            defer { executor.finish() }
            try blocking(on: executor) {
                try await SocketDirectory.$runtimeDirectory.withValue(mount.sandbox.runtime) {
                    try await withThrowingTaskGroup { group in
                        group.addTask { try await body(mount) }
                        // (What a query never tells would be waited for without end; a cancelled wait ends.)
                        group.addTask {
                            try await Task.sleep(for: .seconds(120))
                            throw HarnessError("not over within 120 s: a query has not told of something")
                        }
                        defer { group.cancelAll() }
                        try await group.next()
                    }
                }
            }
        }
    }

    private func query(_ text: String, _ mount: MountedStore, _ folder: String = "", isLive: Bool = true) throws
        -> MetadataQuery
    {
        let url = URL(filePath: mount.mountPoint + "/" + folder, directoryHint: .isDirectory)
        return MetadataQuery(try QueryPredicate(text: text), in: [.items(at: url)], isLive: isLive)
    }

    private func paths(_ query: MetadataQuery) -> [String] { query.results.map(\.path) }

    /// Returns when the results are these.
    private func wait(
        for wanted: [String], _ query: MetadataQuery, _ notifications: AsyncStream<MetadataQuery.Notification>
    ) async {
        if paths(query) == wanted { return }
        for await _ in notifications where paths(query) == wanted { return }
    }

    @Test("a query finds placeholders, with their values, and downloads nothing")
    func gathers() async throws {
        try await withDomain { mount in
            let all = try query("", mount, isLive: false)
            try await all.gather()
            #expect(
                paths(all) == ["Report.txt", "Résumé.pdf", "photos", "photos/IMG_1.jpg", "photos/report of a trip.odt"])
            #expect(all.results.filter { $0.kind == .document }.allSatisfy { $0.download == .placeholder })
            let pdf = try #require(all.results.first { $0.name == "Résumé.pdf" })
            #expect(pdf.size == 5_000 && pdf.contentType.identifier == "com.adobe.pdf" && pdf.identifier != nil)
            #expect(pdf.url.path(percentEncoded: false) == mount.mountPoint + "/Résumé.pdf")
            #expect(all.results(groupedBy: .kind).map(\.value) == ["document", "folder"])
            #expect(all.unlistedFolderCount == 0)
            all.sortDescriptors = [MetadataSort(.size, ascending: false)]
            #expect(all.results.first?.name == "IMG_1.jpg")

            let scoped = try query("report", mount, "photos", isLive: false)
            try await scoped.gather()
            #expect(paths(scoped) == ["photos/report of a trip.odt"])
            #expect(!scoped.isStarted)
            #expect(try mount.status("photos/IMG_1.jpg").state == .placeholder)
        }
    }

    @Test("a shallow query has the items of its folders only, and follows them")
    func shallow() async throws {
        try await withDomain { mount in
            let live = try query("", mount)
            live.isShallow = true
            live.batchingInterval = .milliseconds(20)
            let notifications = live.notifications()
            try await live.gather()
            #expect(paths(live) == ["Report.txt", "Résumé.pdf", "photos"])
            #expect(live.unlistedFolderCount == 0)
            try mount.run("touch photos/deep.txt; mv Report.txt photos/; touch new.txt")
            await wait(for: ["Résumé.pdf", "new.txt", "photos"], live, notifications)
            live.stop()
            let found = try mount.hydrant(["find", "--shallow", "--in", mount.mountPoint + "/photos", "report"])
            let inner = ["Report.txt", "report of a trip.odt"].map { mount.mountPoint + "/photos/" + $0 }
            #expect(found.stdout.split(separator: "\n").map(String.init).sorted() == inner.sorted())
        }
    }

    @Test("a query of a program that knows no shallow ones is deep")
    func olderPrograms() throws {
        var request = QueryRequest(id: UUID().uuidString, predicate: .everything)
        let old = try JSONEncoder().encode(request)
        #expect(!String(decoding: old, as: UTF8.self).contains("hallow"))
        #expect(try JSONDecoder().decode(QueryRequest.self, from: old) == request)
        request.isShallow = true
        #expect(try JSONDecoder().decode(QueryRequest.self, from: JSONEncoder().encode(request)).isShallow)
    }

    @Test("a query in any process has the result of a coordinated write when the writer's call returns")
    func stitches() async throws {
        try await withDomain { mount in
            let query = try query("report", mount)
            // Longer than this test: nothing comes by itself.
            query.batchingInterval = .seconds(600)
            try await query.gather()
            #expect(query.resultCount == 2)
            for number in 1...5 {
                let url = URL(filePath: mount.mountPoint + "/report \(number).txt", directoryHint: .notDirectory)
                try await FileCoordinator().coordinate(writingItemAt: url) { try Data("x".utf8).write(to: $0) }
                #expect(query.resultCount == 2 + number)
                let new = mount.mountPoint + "/photos/report \(number).txt"
                _ = try mount.run(
                    "\"$HYDRANT\" coordinate --write '\(url.path(percentEncoded: false))' --write '\(new)' --for moving -- mv {}"
                )
                #expect(paths(query).contains("photos/report \(number).txt"))
                #expect(!paths(query).contains("report \(number).txt"))
            }
            #expect(query.resultCount == 7)
        }
    }

    @Test("results follow changes by other programs and in the store")
    func follows() async throws {
        try await withDomain { mount in
            let query = try query("kind:text", mount)
            query.batchingInterval = .milliseconds(50)
            let notifications = query.notifications()
            try await query.gather()
            #expect(paths(query) == ["Report.txt"])
            _ = try mount.run("echo new >note.txt")
            await wait(for: ["Report.txt", "note.txt"], query, notifications)
            let id = try #require(query.results.last?.id)
            _ = try mount.run("mv note.txt photos/kept.txt")
            await wait(for: ["Report.txt", "photos/kept.txt"], query, notifications)
            #expect(query.results.last?.id == id)
            _ = try mount.run("mv photos pictures")
            await wait(for: ["Report.txt", "pictures/kept.txt"], query, notifications)
            // In the store.
            try FileManager.default.removeItem(atPath: mount.store + "/Report.txt")
            await wait(for: ["pictures/kept.txt"], query, notifications)
            try mount.sync()
            query.stop()
            _ = try mount.run("echo new >later.txt")
            #expect(paths(query) == ["pictures/kept.txt"])
        }
    }

    @Test("while updates are disabled the results stay, and the changes are reported together afterwards")
    func disabled() async throws {
        try await withDomain { mount in
            let query = try query("kind:text", mount)
            query.batchingInterval = .milliseconds(20)
            try await query.gather()
            query.disableUpdates()
            query.disableUpdates()
            let url = URL(filePath: mount.mountPoint + "/more.txt", directoryHint: .notDirectory)
            try await FileCoordinator().coordinate(writingItemAt: url) { try Data("x".utf8).write(to: $0) }
            _ = try await FileCoordinator().coordinate(
                writingItemAt: URL(filePath: mount.mountPoint + "/Report.txt", directoryHint: .notDirectory),
                options: .forDeleting
            ) { try FileManager.default.removeItem(at: $0) }
            #expect(paths(query) == ["Report.txt"])
            query.enableUpdates()
            #expect(paths(query) == ["Report.txt"])
            let notifications = query.notifications()
            query.enableUpdates()
            // (The daemon tells of the deletion over another connection than the one on which it ended the claim.)
            var updates: Set<String> = []
            for await notification in notifications {
                guard case .updated(let added, _, let removed) = notification else { continue }
                for name in added { #expect(updates.insert("+" + name.name).inserted) }
                for name in removed { #expect(updates.insert("-" + name.name).inserted) }
                if updates.count >= 2 { break }
            }
            #expect(updates == ["+more.txt", "-Report.txt"])
            #expect(paths(query) == ["more.txt"])
        }
    }

    @Test("an unmounted domain has no results, and has them again after the next mount")
    func outlivesADaemon() async throws {
        try await withDomain { mount in
            let query = try query("report", mount)
            let notifications = query.notifications()
            try await query.gather()
            try mount.unmount()
            await wait(for: [], query, notifications)
            try mount.mount()
            await wait(for: ["Report.txt", "photos/report of a trip.odt"], query, notifications)
        }
    }

    @Test("documents granted to the program are found through its references, and name their reference")
    func external() async throws {
        try await withDomain { mount in
            let container = URL(filePath: mount.sandbox.scratch + "/container", directoryHint: .isDirectory)
            try FileManager.default.createDirectory(at: container, withIntermediateDirectories: true)
            let url = URL(filePath: mount.mountPoint + "/photos/IMG_1.jpg", directoryHint: .notDirectory)
            let bookmark = try await Bookmark.make(of: url, scope: SecurityScope(.read))
            let reference = try ReferenceDocument(name: "IMG_1.jpg", bookmark: bookmark).write(into: container)
            for (text, count) in [("", 1), ("kind:image", 1), ("kind:pdf", 0)] {
                let query = MetadataQuery(
                    try QueryPredicate(text: text), in: [.externalDocuments(referencedIn: container)], isLive: false)
                try await query.gather()
                #expect(query.resultCount == count, "\(text)")
                if let item = query.results.first {
                    #expect(item.external?.referenceURL.lastPathComponent == reference.lastPathComponent)
                    #expect(item.external?.containerDisplayName.isEmpty == false)
                }
            }
        }
    }

    @Test("one request gets the values of many items, placeholders too, with tags on request")
    func promises() async throws {
        try await withDomain { mount in
            _ = try mount.run("setfattr -n user.xdg.tags -v 'tax,urgent' Report.txt")
            let names = ["Report.txt", "photos/IMG_1.jpg", "nothing", "photos"]
            let urls = names.map { URL(filePath: mount.mountPoint + "/" + $0, directoryHint: .notDirectory) }
            let outside = URL(filePath: "/etc/passwd", directoryHint: .notDirectory)
            let all = await PromisedItems.values(of: urls + [outside], wantsTags: true)
            #expect(try all[0].get().item.tags == ["tax", "urgent"])
            #expect(try all[1].get().item.size == 300_000 && all[1].get().item.download == .placeholder)
            #expect(throws: MetadataQueryError.self) { try all[2].get() }
            #expect(try all[3].get().item.kind == .folder)
            #expect(throws: MetadataQueryError.self) { try all[4].get() }
        }
    }

    @Test("hydrant find finds, sorts, limits, and follows with --live")
    func command() async throws {
        try await withDomain { mount in
            func find(_ words: String) throws -> [String] {
                try mount.run("\"$HYDRANT\" find \(words) --in .").split(separator: "\n").map {
                    String($0.dropFirst(mount.mountPoint.count + 1))
                }
            }
            _ = try mount.run("mkdir -p \"$STORE/new/inner\"; until [ -e new ]; do sleep 0.05; done")
            #expect(
                try mount.hydrant(["find", "x", "--in", mount.mountPoint]).stderr.contains("1 folder was not searched"))
            #expect(try mount.hydrant(["find", "x", "--in", mount.mountPoint + "/photos"]).stderr == "")
            #expect(try find("report") == ["Report.txt", "photos/report of a trip.odt"])
            #expect(try find("'kind:image OR kind:pdf' --sort size --reverse") == ["photos/IMG_1.jpg", "Résumé.pdf"])
            #expect(try find("--limit 1") == ["Report.txt"])
            #expect(try find("nothing-like-it") == [])
            #expect(try mount.run("\"$HYDRANT\" find -0 resume --in . | xargs -0 stat -c %s") == "5000\n")
            #expect(try mount.hydrant(["find", "size:big", "--in", mount.mountPoint]).status == 64)
            #expect(try mount.hydrant(["find", "x", "--in", "/etc"]).status == 1)
            let object = try mount.run("\"$HYDRANT\" find --json resume --in .")
            let json = try #require(try JSONSerialization.jsonObject(with: Data(object.utf8)) as? [String: Any])
            #expect(json["size"] as? Int == 5_000 && json["state"] as? String == "placeholder" && json.count == 17)
            let live = try mount.run(
                """
                "$HYDRANT" find --live --interval 0.05 kind:text --in . >"$SCRATCH/out" & pid=$!
                until grep -q Report "$SCRATCH/out"; do sleep 0.05; done
                echo x >new.txt; until grep -q '^+ .*new' "$SCRATCH/out"; do sleep 0.05; done
                rm new.txt; until grep -q '^- .*new' "$SCRATCH/out"; do sleep 0.05; done
                kill $pid; wait $pid || true; head -n 1 "$SCRATCH/out"
                """)
            #expect(live == "+ \(mount.mountPoint)/Report.txt\n")
        }
    }

    @Test("the store's own search finds items in folders not listed yet, marked unlisted until they are listed")
    func storeSearch() async throws {
        var options = ServerOptions()
        options.wantsPassword = true
        try await withServer(.nextcloud, options) { server in
            try await withSandbox(.with { $0.limit = 90 }) { mount in
                let seeding = Seeding(server.root)
                try seeding.file("top report.txt", "1")
                try seeding.file("a/b/deep Report.txt", "12345")
                try seeding.file("a/b/100% report_.odt", "1")
                try seeding.file("a/other.txt", "1")
                func run(_ words: String) throws -> String {
                    let result = try mount.sandbox.run(
                        ["sh", "-c", words], environment: mount.environment, limit: 20)
                    guard result.succeeded else { throw HarnessError("\(words): \(result)") }
                    return result.stdout
                }
                _ = try run(
                    """
                    "$HYDRANT" domain add work \(server.url) --user \(TestServer.user)
                    echo "\(TestServer.password)" | "$HYDRANT" login work --password-stdin
                    "$HYDRANT" mount work "$MOUNT"
                    """)
                func find(_ words: String) throws -> [String] {
                    try run("\"$HYDRANT\" find \(words) --in \"$MOUNT\"").split(separator: "\n").map {
                        String($0.dropFirst(mount.mountPoint.count + 1))
                    }.sorted()
                }
                let deep = ["a/b/100% report_.odt", "a/b/deep Report.txt"]
                #expect(try find("report") == deep + ["top report.txt"])
                #expect(try find("report state:unlisted") == deep)
                #expect(try find("'report -state:unlisted'") == ["top report.txt"])
                #expect(try find("report 'size:>3'") == [deep[1]])
                #expect(try find("'0% re'") == [deep[0]] && find("'0_ re'") == [])
                #expect(try find("kind:text 'size:>3'") == [deep[1]])
                #expect(try find("report --in \"$MOUNT/a\"") == deep + ["top report.txt"])
                #expect(try find("report state:downloaded") == [])
                let json = try run("\"$HYDRANT\" find --json deep --in \"$MOUNT\"")
                #expect(json.contains("\"conditions\":[\"unlisted\"]") && json.contains("\"size\":5"), "\(json)")
                // The path leads to it; then it is a result like any other.
                let live = try run(
                    """
                    "$HYDRANT" find --live --interval 0.05 deep --in "$MOUNT" >"$SCRATCH/out" & pid=$!
                    until grep -q deep "$SCRATCH/out"; do sleep 0.05; done
                    cat "$MOUNT/a/b/deep Report.txt" >"$SCRATCH/bytes"
                    until grep -q '^- ' "$SCRATCH/out" && [ "$(grep -c '^+ ' "$SCRATCH/out")" = 2 ]; do sleep 0.05; done
                    kill $pid; wait $pid || true; cat "$SCRATCH/bytes"; grep -c . "$SCRATCH/out"
                    """)
                #expect(live.hasPrefix("12345"), "\(live)")
                #expect(try find("report state:unlisted") == [])
                #expect(try find("report") == deep + ["top report.txt"])
            }
        }
    }

    @Test("the program in the documentation is the one that is built, and works as described")
    func documentedProgram() async throws {
        let root = URL(filePath: #filePath, directoryHint: .notDirectory).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let program = try String(
            contentsOf: root.appending(path: "Sources/Examples/Watch/Watch.swift"), encoding: .utf8)
        let page = try String(
            contentsOf: root.appending(path: "Sources/MetadataQuery/Documentation.docc/MetadataQuery.md"),
            encoding: .utf8)
        #expect(page.contains("```swift\n" + program + "```"))
        try await withDomain { mount in
            let shown = try mount.run(
                """
                "$(dirname "$HYDRANT")/hydrant-watch" . kind:document >"$SCRATCH/out" & pid=$!
                until grep -q "3 found, 3 of them not here" "$SCRATCH/out"; do sleep 0.05; done
                echo 12345678 >new.txt; until grep -q "4 found, 3 of them not here" "$SCRATCH/out"; do sleep 0.05; done
                kill $pid; wait $pid || true; tail -n 3 "$SCRATCH/out"
                """)
            #expect(shown.contains("  new.txt: 9 bytes\n"))
        }
    }

    @Test("words of downloaded texts are found when the index is on, and nothing is downloaded for it")
    func texts() async throws {
        try await withDomain { mount in
            func find(_ text: String) throws -> [String] {
                try mount.run("\"$HYDRANT\" find '\(text)' --in .").split(separator: "\n").map {
                    String($0.dropFirst(mount.mountPoint.count + 1))
                }
            }
            func until(_ text: String, _ wanted: [String]) throws {
                try waitUntil(20, "\(text): \(wanted)") { try find(text) == wanted }
            }
            _ = try mount.run(
                "printf 'Net income of the Café, 2024' >a.txt; printf '<p class=\"budget\">net <b>loss</b></p>' >b.html"
            )
            #expect(try find("text:income") == [])
            #expect(try mount.run("\"$HYDRANT\" index on \"$MOUNT\"").contains(": on, "))
            try until("text:income", ["a.txt"])
            #expect(try find("text:\"CAFE net\"") == ["a.txt"])
            #expect(try find("text:inco") == [] && find("text:inco*") == ["a.txt"])
            #expect(try find("text:budget") == [] && find("text:\"loss net\"") == ["b.html"])
            #expect(try find("text:net kind:html OR text:income -2024") == ["a.txt", "b.html"])
            // By the system's own reader.
            _ = try mount.run(Self.makesPDF)
            try until("text:\"quarterly figures\"", ["figures.pdf"])
            // What changes, what is made, and what goes.
            let query = try query("text:outgoing", mount)
            query.batchingInterval = .milliseconds(50)
            let notifications = query.notifications()
            try await query.gather()
            _ = try mount.run("echo ' and outgoing' >>a.txt; echo outgoing >c.md; mv b.html d.html")
            await wait(for: ["a.txt", "c.md"], query, notifications)
            #expect(try find("text:loss") == ["d.html"])
            _ = try mount.run("rm c.md; \"$HYDRANT\" sync --quiet \"$MOUNT\"; \"$HYDRANT\" evict a.txt")
            await wait(for: [], query, notifications)
            #expect(try find("text:income") == [])
            // Not what is not here: and it stays so.
            #expect(try find("text:first") == [])
            #expect(try mount.status("Report.txt").state == .placeholder && mount.status("a.txt").state == .placeholder)
            _ = try mount.run("cat Report.txt")
            try until("text:first", ["Report.txt"])
            try mount.remount()
            #expect(try find("text:first") == ["Report.txt"])
            #expect(
                try mount.run("\"$HYDRANT\" index off \"$MOUNT\"; \"$HYDRANT\" find text:first --in .").hasSuffix(
                    ": off\n"))
            let state = try FileManager.default.subpathsOfDirectory(atPath: mount.sandbox.state)
            #expect(!state.contains { $0.contains("texts.sqlite") })
        }
    }
}
