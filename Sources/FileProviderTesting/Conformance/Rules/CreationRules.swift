import FileProvider

extension ConformanceSuite {
    static let creationRules: [ConformanceRule] = [
        ConformanceRule(301, "A new document is in its folder, with the given name, kind and contents.") { it in
            let bytes = ConformanceContext.testBytes(1234)
            let item = try await it.makeDocument("new", bytes)
            try it.require(
                item.filename == "new" && item.kind == .document && item.parentIdentifier == it.folder,
                "the returned item is \(item)")
            try it.require(item.size == 1234, "its size is \(item.size), not 1234")
            try await it.requireNames("new", after: "the creation")
            try await it.requireContents(item, are: bytes)
        },
        ConformanceRule(302, "A creation returns the same item as a fresh placeholder.") { it in
            try await it.requireIsCurrent(try await it.makeDocument())
            try await it.requireIsCurrent(try await it.makeFolder("folder"))
        },
        ConformanceRule(303, "A document's name is refused with that document, which stays as it is.") { it in
            let bytes = ConformanceContext.testBytes(100)
            let item = try await it.makeDocument("taken", bytes)
            let error = try await it.requireError(.filenameCollision, from: "a creation under a taken name") {
                _ = try await it.provider.createItem(
                    it.template("taken"), contents: BytesSource(ConformanceContext.testBytes(100, seed: 2)))
            }
            try await it.requireUnchanged(item, bytes, after: "the collision")
            try await it.requireNames("taken", after: "the collision")
            try await it.requireItem(of: error, isCurrent: item)
        },
        ConformanceRule(304, "A name that an item of another kind has is refused too.") { it in
            let item = try await it.makeDocument("document")
            let folder = try await it.makeFolder("folder")
            let first = try await it.requireError(.filenameCollision, from: "a folder with a document's name") {
                _ = try await it.provider.createItem(it.template("document", kind: .folder), contents: nil)
            }
            let second = try await it.requireError(.filenameCollision, from: "a document with a folder's name") {
                _ = try await it.provider.createItem(it.template("folder"), contents: BytesSource("x"))
            }
            let third = try await it.requireError(.filenameCollision, from: "a folder that exists") {
                _ = try await it.provider.createItem(it.template("folder", kind: .folder), contents: nil)
            }
            try await it.requireNames("document", "folder", after: "the collisions")
            try await it.requireItem(of: first, isCurrent: item)
            try await it.requireItem(of: second, isCurrent: folder)
            try await it.requireItem(of: third, isCurrent: folder)
        },
        ConformanceRule(305, "A document may have no bytes.") { it in
            let item = try await it.makeDocument("empty", [])
            try it.require(item.size == 0, "its size is \(item.size)")
            let placeholder = try await it.placeholder(item)
            try it.require(placeholder.kind == .document && placeholder.size == 0, "it is \(placeholder)")
        },
        ConformanceRule(306, "A new folder is empty, also under the former name of another folder.") { it in
            let first = try await it.makeFolder("folder")
            try it.require(first.kind.isFolder, "the returned item is \(first)")
            try await it.requireNames(in: first.identifier, after: "the creation")
            _ = try await it.makeDocument("document", in: first.identifier)
            let current = try await it.placeholder(first)
            let moved = try await it.provider.moveItem(
                first.identifier, to: it.folder, as: "elsewhere", baseVersion: current.version)
            let second = try await it.makeFolder("folder")
            try await it.requireNames(in: second.identifier, after: "the second creation")
            try await it.requireNames("document", in: moved.identifier, after: "the second creation")
        },
        ConformanceRule(307, "A creation in a deleted folder is refused.") { it in
            let gone = try await it.makeFolder("gone")
            try await it.provider.deleteItem(gone.identifier, baseVersion: gone.version)
            try await it.requireError(.noSuchItem, from: "a creation in a deleted folder") {
                _ = try await it.provider.createItem(
                    it.template("x", in: gone.identifier), contents: BytesSource("x"))
            }
            try await it.requireNames(after: "a creation in a deleted folder")
        },
        ConformanceRule(308, "Contents that end too early leave no trace.") { it in
            try await it.requireError(from: "a creation from 500 bytes that announce 1,000") {
                _ = try await it.provider.createItem(
                    it.template("short"),
                    contents: ShortSource(size: 1000, bytes: ConformanceContext.testBytes(500)))
            }
            try await it.requireNames(after: "the failed creation")
        },
        ConformanceRule(309, "Contents that cannot be read to the end leave no trace.") { it in
            try await it.requireError(from: "a creation from contents that fail") {
                _ = try await it.provider.createItem(
                    it.template("broken"), contents: FailingSource(size: 300_000, failsAt: 150_000))
            }
            try await it.requireNames(after: "the failed creation")
            // The name is not left blocked.
            _ = try await it.makeDocument("broken")
        },
        ConformanceRule(310, "A symbolic link keeps its target, or is refused as unsupported.") { it in
            let target = Array("../else where/ä".utf8)
            let link: Item
            do {
                link = try await it.provider.createItem(
                    it.template("link", kind: .symbolicLink(target: target)), contents: nil)
            } catch let error as FileProviderError where error.code == .unsupported {
                try await it.requireNames(after: "the refused link")
                throw RuleSkip("the store has no symbolic links")
            }
            try it.require(link.kind == .symbolicLink(target: target), "the returned item is \(link)")
            try await it.requireIsCurrent(link)
        },
    ]
}
