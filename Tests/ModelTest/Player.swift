import FileProvider
import FileProviderTesting
import Glibc
import ItemCatalog
import SyncEngine
import Trees
import Volume

/// Plays a sequence: each operation in the world and in the model, and compares.
struct Player {
    let world: World
    private var model: Model { world.model }
    private(set) var done = 0
    /// The state since both sides last agreed: what the other client left, and whether programs here changed anything.
    private var leftThere: [String: StoredEntry]?
    private var hasChangedHere = false

    init(world: World) { self.world = world }

    /// Plays all operations and lets both sides agree. Returns the violation, if any.
    mutating func play() -> String? {
        for operation in world.sequence.operations {
            world.random = Random(world.sequence.seed, operation.description)
            world.log("* \(operation)")
            perform(operation)
            done += 1
            if world.violation != nil { return world.violation }
        }
        world.random = Random(world.sequence.seed, "end")
        world.log("* end")
        settle(isEnd: true)
        return world.violation
    }

    private mutating func perform(_ operation: Operation) {
        let numbers = operation.numbers
        switch operation.verb {
        case .offline: (world.isOffline, world.hasTrouble) = (true, true)
        case .online: world.isOffline = false
        case .fault:
            world.hasTrouble = true
            let fault = GatedStore.Fault(rawValue: numbers[1] % GatedStore.Fault.allCases.count)!
            // As if another client had changed it.
            if fault == .mismatch { world.isRacing = true }
            world.inject(World.hooks[numbers[0] % World.hooks.count], fault)
        case .forgetChanges: world.base.forgetChanges()
        case .run: world.run(steps: numbers[0])
        case .wait: world.run(milliseconds: numbers[0])
        case .kill: kill()
        case .settle: settle(isEnd: false)
        case .remotePut, .remoteMove, .remoteDelete, .remoteFolder, .remoteAttribute: remotely(operation)
        case .evict, .download, .pin, .unpin, .pause, .resume, .hurry:
            let answer = world.machine.perform(operation)
            world.log("  \(answer)")
            if answer == .failed(Machine.hangs) { world.fail("\(operation) never comes to an end") }
        default: locally(operation)
        }
    }

    // MARK: Programs

    /// All documents' contents in the tree, and those that are saved.
    private func contents() -> (all: Set<[UInt8]>, saved: Set<[UInt8]>) {
        let documents = model.root.walk().map(\.file).filter { $0.kind == .document }
        return (Set(documents.map(\.bytes)), Set(documents.filter { !$0.isUnsaved }.map(\.bytes)))
    }

    private mutating func locally(_ operation: Operation) {
        let isListed = operation.paths.allSatisfy { list(above: $0, operation) }
        checkUnchanged("before \(operation)")
        if world.violation != nil { return }
        let answer = world.machine.perform(operation)
        world.log("  \(answer)")
        if ![.read, .readAll, .list].contains(operation.verb) { hasChangedHere = true }
        if world.isRacing && world.machine.hasWaited {
            // The other client's changes arrived during the wait, and were seen before they were overwritten.
            for path in operation.paths.flatMap({ [$0, storePath($0)] }) {
                for stored in inStore(path) where stored.path == path { world.ledger.forgive(stored.bytes) }
            }
        }
        if case .failed(let number) = answer, mayFail(number, isListed) {
            // The call did nothing, or only a part.
            world.hasTrouble = true
            let target = operation.verb == .copy ? model.slots[operation.numbers[1]]?.file.bytes : nil
            adopt()
            // A copy that ends in the middle has overwritten that much.
            if let target, target != model.slots[operation.numbers[1]]?.file.bytes { world.ledger.forgive(target) }
            return
        }
        let before = contents()
        // A program that writes to a file which the other client has replaced had seen its old contents.
        let written: [Operation.Verb] = [.write, .truncateOpen, .punch, .allocate, .copy]
        if world.isRacing, written.contains(operation.verb) {
            let target = operation.numbers[operation.verb == .copy ? 1 : 0]
            if let file = model.slots[target]?.file { world.ledger.forgive(file.bytes) }
        }
        // For a placeholder that nobody had read, the newest version was copied.
        if operation.verb == .copy, world.isRacing, world.machine.hasWaited,
            case .bytes(let copied) = world.machine.perform(Operation(.read, [], [operation.numbers[0]]))
        {
            model.slots[operation.numbers[0]]?.file.bytes = copied
        }
        let slot = [.sync, .close].contains(operation.verb) ? model.slots[operation.numbers[0]] : nil
        let expected = model.perform(operation)
        // The other client has replaced one of them, unseen: they are two files now.
        if operation.verb == .copy, world.isRacing, expected == .failed(EINVAL) { return adopt() }
        // The model did not know the contents of a folder that could not be listed: take the programs' view.
        let left = contents()
        if !isListed && world.isRacing && world.machine.hasWaited {
            adopt()
            // A call's result on an unknown document is whole all the same.
            if let path = operation.paths.first, let bytes = try? model.file(path).bytes,
                world.ledger.wholes.contains(where: { Model.changed($0, by: operation) == bytes })
            {
                world.ledger.whole(bytes)
            }
        }
        let after = contents()
        // Contents that were only seen are owed by the operation that wrote them, if still owed.
        world.ledger.changedHere(
            before.all, after.all, saved: after.saved.intersection(left.all), "\(operation)")
        if let slot, slot.hasWritten, !slot.file.isUnlinked { world.ledger.saved([slot.file.bytes], "\(operation)") }
        if answer != expected, !(world.isRacing && world.machine.hasWaited) {
            return world.fail("\(operation): \(answer), expected \(expected)")
        }
        checkUnchanged("after \(operation)")
    }

    /// Lists the folders above a path, as the kernel does. False: one cannot be listed now.
    private func list(above path: String, _ operation: Operation) -> Bool {
        var (folder, isListed) = ("", true)
        for name in [""] + path.split(separator: "/").dropLast().map(String.init) {
            folder += folder.isEmpty ? name : "/" + name
            let answer = world.machine.perform(Operation(.list, [folder]))
            switch answer {
            case .failed(ENOENT), .failed(ENOTDIR), .names: break
            default: isListed = false
            }
        }
        if operation.verb == .list { isListed = isListed && !world.isOffline }
        return isListed
    }

    /// Whether a call that needs the store may fail in the present trouble.
    private func mayFail(_ number: Int32, _ isListed: Bool) -> Bool {
        if number == Machine.hangs { return false }
        if world.isRacing && (number == ESTALE || world.machine.hasWaited) { return true }
        let fromStore: Set<Int32> = [
            EIO, ETIMEDOUT, ENETUNREACH, EHOSTUNREACH, ENETDOWN, ESTALE, EBUSY, EAGAIN, EINTR, ECONNREFUSED, EREMOTEIO,
            ENOTCONN, EHOSTDOWN,
        ]
        return (world.machine.hasWaited || !isListed) && (world.hasTrouble || world.isRacing)
            && fromStore.contains(number)
    }

    /// Checks that nothing changed under a program unless the other side did something.
    private func checkUnchanged(_ when: String) {
        do {
            let seen = try world.observe()
            if let difference = seen.difference(from: model.root) {
                world.log("  seen: \(difference)")
                if !world.isRacing { return world.fail("\(when): \(difference)") }
            }
            take(seen)
        } catch {
            world.fail("\(when): the catalog cannot be read: \(error)")
        }
    }

    private func take(_ seen: Observation) {
        for (_, bytes) in seen.torn { world.ledger.forgive(bytes) }
        model.adopt(seen.tree(keeping: model) { [machine = world.machine] in machine.file(in: $0) })
    }

    private func adopt() {
        do { take(try world.observe()) } catch {
            world.fail("the catalog cannot be read: \(error)")
        }
    }

    // MARK: Death

    private mutating func kill() {
        checkUnchanged("before the kill")
        do { try world.kill() } catch { return world.fail("cannot start again: \(error)") }
        for slot in model.slots.values {
            slot.file.isUnsaved = false
            world.ledger.whole(slot.file.bytes)
        }
        model.slots = [:]
        let saved = contents().saved
        for content in saved { world.ledger.whole(content) }
        checkUnchanged("after the kill")
    }

    // MARK: The other client

    private func inStore(_ prefix: String) -> [(path: String, bytes: [UInt8])] {
        world.base.snapshot().compactMap { path, entry in
            guard case .document(let bytes) = entry, path == prefix || path.hasPrefix(prefix + "/") else { return nil }
            return (path, bytes)
        }
    }

    /// The store's path of a local path: the store may not know yet that a folder was moved here.
    private func storePath(_ path: String) -> String {
        let (folder, name) = Model.split(path)
        guard !folder.isEmpty, let identifier = world.life.identifier(of: folder),
            let found = world.base.items().first(where: { $0.value.identifier == identifier })?.key
        else { return path }
        return found + "/" + name
    }

    private mutating func remotely(_ operation: Operation) {
        let (paths, numbers, base) = (operation.paths, operation.numbers, world.base)
        let before = allInStore()
        var touched = Set(paths.flatMap(inStore).map(\.bytes))
        world.isRacing = true
        do throws(FileProviderError) {
            switch operation.verb {
            case .remotePut:
                let bytes = Contents.bytes(numbers[0], numbers[1])
                world.remember(bytes, try base.put(paths[0], bytes))
            case .remoteMove: try base.rename(paths[0], to: paths[1])
            case .remoteDelete: try base.remove(paths[0])
            case .remoteFolder: try base.mkdir(paths[0])
            default:
                try base.setExtendedAttributes(
                    [Model.attributeNames[numbers[0] % 2]: Contents.bytes(numbers[1], numbers[2])], at: paths[0])
            }
            touched.formUnion(paths.flatMap(inStore).map(\.bytes))
            world.ledger.changedThere(before, allInStore(), touched: touched, "\(operation)")
            leftThere = base.snapshot()
        } catch {
            world.log("  \(error.code)")
        }
    }

    private func allInStore() -> Set<[UInt8]> {
        Set(
            world.base.snapshot().values.compactMap { entry in
                if case .document(let bytes) = entry { bytes } else { nil }
            })
    }

    // MARK: Agreement

    /// All faults are over and all files are closed: both sides must become equal, with nothing missing.
    private mutating func settle(isEnd: Bool) {
        world.isOffline = false
        world.clearFaults()
        for slot in model.slots.keys.sorted() { locally(Operation(.close, [], [slot])) }
        _ = world.machine.perform(Operation(.resume))
        if world.violation != nil { return }
        var problem: String? = "did not begin"
        for round in 0..<11 where problem != nil && world.violation == nil {
            world.run(milliseconds: 2_000 << round)
            do throws(VolumeError) {
                try world.machine.run { [engine = world.life.volume.engine] in _ = try await engine.sync(timeout: 60) }
                try listAll("")
            } catch {
                if error.errno == Machine.hangs { return world.fail("sync never comes to an end") }
            }
            problem = difference()
        }
        if world.violation != nil { return }
        if let problem { return world.fail("both sides do not become the same: \(problem)") }
        compare(isEnd: isEnd)
    }

    private func listAll(_ folder: String) throws(VolumeError) {
        for name in try world.machine.list(folder) {
            let path = folder.isEmpty ? name : folder + "/" + name
            do throws(VolumeError) { try listAll(path) } catch { if error.errno != ENOTDIR { throw error } }
        }
    }

    /// The difference between the mount and the store; nil: none that matters.
    private func difference() -> String? {
        do {
            let seen = try world.observe()
            let torn = Set(seen.torn.keys.compactMap { Observation.paths(seen.root)[$0]?.inode })
            let pending = try world.life.volume.engine.pending().filter { item in
                item.inode.map { !torn.contains($0.rawValue) } ?? true
            }
            if let first = pending.first { return "\(pending.count) pending, of them \(first)" }
            let (here, there) = (Observation.paths(seen.root), world.base.snapshot())
            for (path, entry) in there.sorted(by: { $0.key < $1.key }) {
                guard let file = here[path] else { return "/\(path) is in the store, not here" }
                if Agreement.entry(file) != entry, !Agreement.isExcluded(path) {
                    return
                        "/\(path) is \(Agreement.show(entry)) in the store, here \(Agreement.show(Agreement.entry(file)))"
                }
            }
            var named: Set<Int64> = []
            for path in there.keys { if let inode = here[path]?.inode { named.insert(inode) } }
            for (path, file) in here.sorted(by: { $0.key < $1.key }) where there[path] == nil {
                if Agreement.isExcluded(path) || seen.torn[path] != nil { continue }
                // Of a file's several names the store has one.
                if file.names > 1, let inode = file.inode, named.contains(inode) { continue }
                if file.names > 1, Agreement.hasExcludedName(file, in: here) { continue }
                return "/\(path) is here, not in the store"
            }
            return Agreement.attributes(seen.root, world.base)
        } catch {
            return "\(error)"
        }
    }

    /// The store's documents under names that local-only files have here: the local file is shown.
    private func hidden() -> Set<[UInt8]> {
        let here = Observation.paths(model.root)
        return Set(
            world.base.snapshot().compactMap { path, entry in
                guard Agreement.isExcluded(path), let file = here[path], Agreement.entry(file) != entry,
                    case .document(let bytes) = entry
                else { return nil }
                return bytes
            })
    }

    private mutating func compare(isEnd: Bool) {
        // Where no other client interfered, the result is exactly that of the programs.
        checkUnchanged("at the end, both sides being the same")
        if world.violation != nil { return }
        if let leftThere, !hasChangedHere, leftThere != world.base.snapshot() {
            return world.fail("nobody here changed anything, and the store is not as the other client left it")
        }
        (leftThere, hasChangedHere) = (nil, false)
        let (stored, mounted) = (allInStore(), contents().all.union(hidden()))
        let local = Set(model.root.walk().filter { Agreement.isExcluded($0.path) }.map(\.file.bytes))
        let torn = (try? world.observe().torn) ?? [:]
        for (_, bytes) in torn { world.ledger.forgive(bytes) }
        for (content, who) in world.ledger.owed.sorted(by: { $0.value < $1.value }) {
            if !stored.contains(content) && !local.contains(content) {
                // A placeholder that was only cut, by path or while open: if its version is gone, its bytes are
                // nowhere.
                if ["truncate", "close", "sync"].contains(where: who.hasPrefix), world.isBeginningOfAVersion(content) {
                    continue
                }
                return world.fail("lost: \(Contents.show(content)) of “\(who)” is not in the store")
            }
            if !mounted.contains(content) {
                return world.fail("lost: \(Contents.show(content)) of “\(who)” is in the store, not here")
            }
        }
        for (content, who) in world.ledger.gone.sorted(by: { $0.value < $1.value }) where !content.isEmpty {
            if stored.contains(content) {
                return world.fail("came back: \(Contents.show(content)), which “\(who)” took away")
            }
        }
        if isEnd { readAll(except: torn) }
        world.ledger.agreed()
        (world.isRacing, world.hasTrouble) = (!torn.isEmpty, !torn.isEmpty)
    }

    /// Checks that a final read returns the expected contents.
    private func readAll(except torn: [String: [UInt8?]]) {
        for (path, file) in model.root.walk() where file.kind == .document && torn[path] == nil {
            var answer = world.machine.perform(Operation(.readAll, [path]))
            // The read waited for a download that the store had forgotten during the trouble.
            if answer == .failed(ETIMEDOUT), world.hasHung {
                answer = world.machine.perform(Operation(.readAll, [path]))
            }
            if answer != .bytes(file.bytes) {
                return world.fail("at the end /\(path) reads \(answer), not \(Contents.show(file.bytes))")
            }
        }
    }
}
