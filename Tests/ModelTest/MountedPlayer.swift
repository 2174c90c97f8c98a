import CLinux
import Glibc

/// Plays a sequence at a real mount. Events that the test does not control there (time, the order of hooks, faults of
/// the store) are left out or happen at any time.
final class MountedPlayer {
    private let world: MountedWorld
    private let sequence: OperationList
    private let programs: SystemCalls
    private let model = Model()
    private var ledger = Ledger()
    private var isRacing = false
    /// The other client's contents: when and where it put each into the store.
    private var stored: [[UInt8]: (time: ClosedRange<Double>, paths: [String])] = [:]
    private var violation: String?
    private(set) var story: [String] = []

    init(_ sequence: OperationList, _ world: MountedWorld) {
        (self.sequence, self.world) = (sequence, world)
        programs = SystemCalls(world.mount)
    }

    func play() -> String? {
        do {
            for operation in sequence.operations {
                story.append("* \(operation)")
                try perform(operation)
                if violation != nil { break }
            }
            if violation == nil { try settle() }
        } catch {
            violation = violation ?? "\(error)"
        }
        programs.closeAll()
        return violation
    }

    private func fail(_ what: String) {
        violation = violation ?? what
        story.append("FAILED: \(what)")
    }

    private func perform(_ operation: Operation) throws {
        switch operation.verb {
        case .symlink where !world.hasLinks: break
        case .offline, .online, .fault, .forgetChanges: break
        case .run: usleep(UInt32(operation.numbers[0]) * 10)
        case .wait: usleep(UInt32(min(operation.numbers[0], 150)) * 1_000)
        case .kill: try kill()
        case .settle: try settle()
        case .remotePut, .remoteMove, .remoteDelete, .remoteFolder, .remoteAttribute: try remotely(operation)
        case .evict, .download, .pin, .unpin:
            _ = world.run([operation.verb.rawValue, world.mount + "/" + operation.paths[0]])
        case .pause, .resume: _ = world.run([operation.verb.rawValue, world.mount])
        case .hurry: _ = world.run(["sync", world.mount, "--timeout", "1"])
        default: try locally(operation)
        }
    }

    private func contents() -> (all: Set<[UInt8]>, saved: Set<[UInt8]>) {
        let documents = model.root.walk().map(\.file).filter { $0.kind == .document }
        return (Set(documents.map(\.bytes)), Set(documents.filter { !$0.isUnsaved }.map(\.bytes)))
    }

    private func locally(_ operation: Operation) throws {
        if isRacing {
            try adopt()
            // A newer version in the store may arrive between this look and the call.
            for path in operation.paths {
                if let bytes = world.other.read(path) { ledger.forgive(bytes) }
            }
        }
        let answer = programs.perform(operation)
        story.append("  \(answer)")
        if isRacing, case .failed = answer { return try adopt() }
        let before = contents()
        let slot = [.sync, .close].contains(operation.verb) ? model.slots[operation.numbers[0]] : nil
        let expected = model.perform(operation)
        if isRacing { adoptBase(of: operation) }
        let after = contents()
        ledger.changedHere(before.all, after.all, saved: after.saved, "\(operation)")
        if let slot, slot.hasWritten, !slot.file.isUnlinked { ledger.saved([slot.file.bytes], "\(operation)") }
        if answer != expected && !isRacing { fail("\(operation): \(answer), expected \(expected)") }
    }

    /// Takes over the observed tree: the other side may have changed it.
    private func adopt() throws {
        let seen = Observation(root: try world.tree(world.mount))
        for (_, file) in seen.root.walk() { if let size = file.unreadable { ledger.forgive(size: size) } }
        model.adopt(seen.tree(keeping: model))
    }

    /// The changed version may have arrived since the last look: then the call's result is owed.
    private func adoptBase(of operation: Operation) {
        guard let path = operation.paths.first, let file = try? model.file(path),
            let seen = Files.read(world.mount + "/" + path), seen != file.bytes,
            ledger.wholes.contains(where: { Model.changed($0, by: operation) == seen })
        else { return }
        file.bytes = seen
    }

    private func checkUnchanged(_ when: String) throws {
        let seen = Observation(root: try world.tree(world.mount))
        if let difference = seen.difference(from: model.root), !isRacing { return fail("\(when): \(difference)") }
        model.adopt(seen.tree(keeping: model))
    }

    private func kill() throws {
        programs.closeAll()
        // Writes without a returned close or fsync may be lost.
        let isWritten = model.root.walk().contains { $0.file.isUnsaved }
        for slot in model.slots.values { slot.file.isUnsaved = false }
        model.slots = [:]
        try world.kill()
        if isWritten { try adopt() } else { try checkUnchanged("after the kill") }
    }

    private func remotely(_ operation: Operation) throws {
        let before = try world.other.tree()
        isRacing = true
        let begin = ServerLog.now
        var answer = Answer.done
        switch operation.verb {
        case .remotePut:
            let bytes = Contents.bytes(operation.numbers[0], operation.numbers[1])
            let (result, replaced) = try world.other.put(bytes, at: operation.paths[0])
            answer = result
            if let replaced { ledger.forgive(replaced) }
        case .remoteMove: answer = try world.other.move(operation.paths[0], to: operation.paths[1])
        case .remoteDelete:
            let (result, removed) = try world.other.delete(operation.paths[0])
            answer = result
            if let removed { ledger.forgive(removed) }
        case .remoteFolder: answer = try world.other.makeFolder(operation.paths[0])
        default: answer = try world.other.setAttribute(operation.paths[0], operation.numbers)
        }
        let time = begin...ServerLog.now
        story.append("  \(answer)")
        let after = try world.other.tree()
        func all(_ tree: ModelFile) -> Set<[UInt8]> {
            Set(tree.walk().map(\.file).filter { $0.kind == .document }.map(\.bytes))
        }
        func below(_ tree: ModelFile) -> Set<[UInt8]> {
            Set(
                tree.walk().filter { path, file in
                    file.kind == .document
                        && operation.paths.contains { path == $0 || path.hasPrefix($0 + "/") }
                }.map(\.file.bytes))
        }
        ledger.changedThere(all(before), all(after), touched: below(before).union(below(after)), "\(operation)")
        for content in below(after) { stored[content] = (time, operation.paths) }
    }

    /// Whether the server may have overwritten or removed a content that the other client had just put there: Apache
    /// checks a request's condition first, and changes the file a moment later. Its locks keep other clients out, but
    /// not a program that works in the folder directly.
    private func mayHaveCrossed(_ content: [UInt8]) -> Bool {
        guard let (time, paths) = stored[content] else { return false }
        let crossed = world.changes(during: time, at: paths)
        for request in crossed { say("crossed \(Contents.show(content)): \(request)") }
        if crossed.isEmpty {
            say("put there at \(time.lowerBound); later requests:")
            for request in world.changes(during: time.lowerBound...ServerLog.now, at: paths) { say(request) }
        }
        return !crossed.isEmpty
    }

    private func settle() throws {
        for slot in model.slots.keys.sorted() { try locally(Operation(.close, [], [slot])) }
        _ = world.run(["resume", world.mount])
        if violation != nil { return }
        var problem: String? = ""
        let what = "both sides become the same"
        do {
            try world.wait(what, seconds: 60) {
                let (status, output) = world.run(["sync", world.mount, "--timeout", "20"])
                problem = try difference()
                // A document that can never be whole again is not uploaded.
                if problem == nil, status != 0, try !hasUnreadable() { problem = "sync: \(output)" }
                return problem == nil
            }
        } catch is MountedWorld.Failure {
            return fail("\(what): \(problem ?? "")")
        }
        try checkUnchanged("at the end, both sides being the same")
        if violation != nil { return }
        let local = Set(model.root.walk().filter { Agreement.isExcluded($0.path) }.map(\.file.bytes))
        let there = Set(try world.other.tree().walk().map(\.file).filter { $0.kind == .document }.map(\.bytes))
        let mounted = contents().all
        for (_, file) in model.root.walk() { if let size = file.unreadable { ledger.forgive(size: size) } }
        for (content, who) in ledger.owed.sorted(by: { $0.value < $1.value }) {
            if !there.contains(content) && !local.contains(content) || !mounted.contains(content) {
                if mayHaveCrossed(content) { continue }
                return fail("lost: \(Contents.show(content)) of “\(who)”")
            }
        }
        ledger.agreed()
        isRacing = model.root.walk().contains { $0.file.unreadable != nil }
    }

    private func hasUnreadable() throws -> Bool {
        try world.tree(world.mount).walk().contains { $0.file.unreadable != nil }
    }

    private func difference() throws -> String? {
        let here = Observation.paths(try world.tree(world.mount))
        let there = Observation.paths(try world.other.tree())
        for (path, file) in there.sorted(by: { $0.key < $1.key }) {
            guard let seen = here[path] else { return "/\(path) is in the store, not here" }
            if seen.kind != file.kind || seen.bytes != file.bytes {
                return "/\(path) is \(Agreement.show(Agreement.entry(file))) in the store, here "
                    + Agreement.show(Agreement.entry(seen))
            }
        }
        var named: Set<Int64> = []
        for path in there.keys { if let inode = here[path]?.inode { named.insert(inode) } }
        for (path, file) in here.sorted(by: { $0.key < $1.key }) where there[path] == nil {
            if Agreement.isExcluded(path) || file.unreadable != nil { continue }
            if file.names > 1, let inode = file.inode, named.contains(inode) { continue }
            if file.names > 1, Agreement.hasExcludedName(file, in: here) { continue }
            return "/\(path) is here, not in the store"
        }
        return nil
    }
}
