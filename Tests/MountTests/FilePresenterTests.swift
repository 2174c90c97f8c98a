import FileCoordination
import Foundation
import MountHarness
import Synchronization
import Testing

/// Programs that show an item, and what they hear of others.
@Suite("File presenters at a real mount")
struct FilePresenterTests {
    final class Recorder: FilePresenter {
        let presentedItemURL: URL
        private let heard = Mutex<[String]>([])
        /// Not saved yet.
        let draft = Mutex<String?>(nil)
        let isStuck = Mutex(false)

        init(_ url: URL) { presentedItemURL = url }

        var all: [String] { heard.withLock { $0 } }
        private func hear(_ what: String) { heard.withLock { $0.append(what) } }

        func relinquishPresentedItemToReader() async {
            hear("reader")
            if isStuck.withLock({ $0 }) { try? await Task.sleep(for: .seconds(600)) }
        }
        func relinquishPresentedItemToWriter() async { hear("writer") }
        func reacquirePresentedItem() async { hear("reacquire") }
        func savePresentedItemChanges() async {
            hear("save")
            guard let text = draft.withLock({ $0.take() }) else { return }
            do {
                try await FileCoordinator(filePresenter: self).coordinate(writingItemAt: presentedItemURL) {
                    try Data(text.utf8).write(to: $0)
                }
            } catch { hear("\(error)") }
        }
        func accommodatePresentedItemDeletion() async { hear("deletion") }
        func presentedItemDidChange() async { hear("changed") }
        func presentedItemDidMove(to newURL: URL) async { hear("moved to \(newURL.lastPathComponent)") }
        func presentedItemWasDeleted() async { hear("deleted") }
        func presentedItemDidGainConflict(at url: URL) async { hear("conflict") }
        func presentedItemConflictWasResolved() async { hear("resolved") }
        func presentedSubitemDidChange(at url: URL) async { hear("in it changed \(url.lastPathComponent)") }
        func presentedSubitemWasDeleted(at url: URL) async { hear("in it deleted \(url.lastPathComponent)") }
    }

    private func presenting(
        _ path: String, _ options: MountOptions = MountOptions(),
        _ body: @escaping @Sendable (MountedStore, Recorder) async throws -> Void
    ) async throws {
        try await FileCoordinatorTests.withDomain(options) { mount in
            let recorder = Recorder(FileCoordinatorTests.url(mount, path))
            try await FileCoordinator.addFilePresenter(recorder)
            defer { FileCoordinator.removeFilePresenter(recorder) }
            try await body(mount, recorder)
        }
    }

    @Test("a presenter saves before another program reads, which then reads the saved changes")
    func saves() async throws {
        try await presenting("a.txt") { mount, recorder in
            recorder.draft.withLock { $0 = "not saved yet\n" }
            #expect(try mount.run("\"$HYDRANT\" coordinate --read a.txt -- cat {}") == "not saved yet\n")
            try waitUntil(5, "it may have it again") { recorder.all.contains("reacquire") }
            #expect(recorder.all == ["reader", "save", "reacquire"], "its own save is no news to it")
            // Without changes: not.
            recorder.draft.withLock { $0 = "still not\n" }
            #expect(
                try mount.run("\"$HYDRANT\" coordinate --read a.txt --without-changes -- cat {}") == "not saved yet\n")
        }
    }

    @Test("a presenter is asked before a write, move or deletion, and told of it afterwards")
    func writers() async throws {
        try await presenting("a.txt") { mount, recorder in
            try mount.run("\"$HYDRANT\" coordinate --write a.txt -- sh -c 'echo new > a.txt'")
            try waitUntil(5, "it is told") { recorder.all.contains("changed") && recorder.all.contains("reacquire") }
            #expect(recorder.all.first == "writer")
            try mount.run(
                "\"$HYDRANT\" coordinate --write a.txt --write folder --for moving -- mv a.txt folder/new.txt")
            try waitUntil(5, "it is told where") { recorder.all.contains("moved to new.txt") }
            #expect(recorder.all.contains("save"))
            try mount.run("\"$HYDRANT\" coordinate --write folder/new.txt --for deleting -- rm {}")
            try waitUntil(5, "it is told that it is gone") { recorder.all.contains("deleted") }
            #expect(recorder.all.contains("deletion"))
        }
    }

    @Test("a presenter of a folder is told of coordinated writes, creations and deletions in it, but not of its own")
    func folder() async throws {
        try await presenting("folder") { mount, recorder in
            func inIt() -> [String] { recorder.all.filter { $0.hasPrefix("in it") } }
            try mount.run("mkdir folder/deep; echo deep > folder/deep/down.txt")
            try mount.run("\"$HYDRANT\" coordinate --write folder/in.txt -- sh -c 'echo new > folder/in.txt'")
            try waitUntil(5, "it is told of a change") { inIt() == ["in it changed in.txt"] }
            try mount.run(
                "\"$HYDRANT\" coordinate --write folder/deep/down.txt -- sh -c 'echo more >> folder/deep/down.txt'")
            try mount.run("\"$HYDRANT\" coordinate --write folder/made.txt -- touch folder/made.txt")
            // Nothing is done, or it is only read, or elsewhere.
            try mount.run("\"$HYDRANT\" coordinate --write folder/in.txt -- true")
            try mount.run("\"$HYDRANT\" coordinate --read folder/in.txt -- cat folder/in.txt")
            try mount.run("\"$HYDRANT\" coordinate --write a.txt -- sh -c 'echo new > a.txt'")
            try await FileCoordinator(filePresenter: recorder).coordinate(
                writingItemAt: FileCoordinatorTests.url(mount, "folder/in.txt")
            ) { try Data("its own\n".utf8).write(to: $0) }
            try mount.run("\"$HYDRANT\" coordinate --write folder/in.txt --for deleting -- rm folder/in.txt")
            try waitUntil(5, "it is told of the deletion") { inIt().last == "in it deleted in.txt" }
            #expect(
                inIt() == [
                    "in it changed in.txt", "in it changed down.txt", "in it changed made.txt", "in it deleted in.txt",
                ])
        }
    }

    @Test("a presenter accommodates a deletion before another item takes the place, and then presents that item")
    func replacing() async throws {
        try await presenting("a.txt") { mount, recorder in
            try mount.run("\"$HYDRANT\" coordinate --write a.txt --for replacing -- mv b.txt {}")
            try waitUntil(5, "it may have it again") { recorder.all.contains("reacquire") }
            #expect(Array(recorder.all.prefix(2)) == ["writer", "deletion"])
            #expect(try mount.run("cat a.txt") == "second\n")
        }
    }

    @Test("changes by programs without coordination, and by the store, are reported")
    func uncoordinated() async throws {
        try await presenting("a.txt") { mount, recorder in
            func expect(_ what: String, after script: String) throws {
                let count = recorder.all.filter { $0 == what }.count
                try mount.run(script)
                try waitUntil(5, "“\(script)”: \(what)") { recorder.all.filter { $0 == what }.count > count }
            }
            try expect("changed", after: "echo more >> a.txt")
            try expect("changed", after: "chmod 600 a.txt")
            // A save by renaming a new file over it: it is the same document.
            try expect("changed", after: "echo saved > tmp; mv tmp a.txt")
            try mount.sync()
            try expect("changed", after: "echo from elsewhere > \"$STORE/a.txt\"")
            try expect("moved to c.txt", after: "mv a.txt c.txt")
            try mount.sync()
            try expect("moved to d.txt", after: "mv \"$STORE/c.txt\" \"$STORE/d.txt\"")
            try expect("deleted", after: "rm d.txt")
            #expect(!recorder.all.contains("reader") && !recorder.all.contains("writer"))
        }
    }

    @Test("a conflict, and its end")
    func conflict() async throws {
        try await presenting("a.txt") { mount, recorder in
            try mount.run(
                "cat a.txt; \"$HYDRANT\" pause \"$MOUNT\"; echo mine > a.txt; echo theirs, longer > \"$STORE/a.txt\"")
            try mount.run("\"$HYDRANT\" resume \"$MOUNT\"; \"$HYDRANT\" sync \"$MOUNT\" || true")
            try waitUntil(10, "it is told of the other version") { recorder.all.contains("conflict") }
            try mount.run("\"$HYDRANT\" resolve --keep both a.txt")
            try waitUntil(5, "it is told of the end") { recorder.all.contains("resolved") }
        }
    }

    @Test("a presenter that hangs, and one that has ended, stop nobody")
    func stuck() async throws {
        var options = MountOptions()
        options.environment["HYDRANT_PRESENTER_PATIENCE"] = "5"
        try await presenting("a.txt", options) { mount, recorder in
            let other = Recorder(recorder.presentedItemURL)
            try await FileCoordinator.addFilePresenter(other)
            defer { FileCoordinator.removeFilePresenter(other) }
            recorder.isStuck.withLock { $0 = true }
            let gone = try mount.start("exec \"$HYDRANT\" present --json a.txt")
            try waitUntil(5, "it presents") { gone.stdout.contains("registered") }
            let reader = try mount.start("exec \"$HYDRANT\" coordinate --read a.txt -- cat {}")
            try waitUntil(5, "it is asked") { gone.stdout.contains("relinquishToReader") }
            kill(gone.pid, SIGKILL)
            let result = reader.wait(limit: 20)
            #expect(result.stdout == "first\n")
            #expect(other.all.contains("save"))
        }
    }
}
