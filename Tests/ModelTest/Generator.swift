/// Makes a sequence from a seed. It tracks which files exist, so that most operations find one.
struct Generator {
    private var random: Random
    private var sequence = OperationList()
    private var token = 0
    private var files: Set<String> = []
    private var folders: Set<String> = [""]
    private var slots: Set<Int> = []

    /// The kinds of events: bits of `profile`.
    private let isShared: Bool
    private let hasFaults: Bool
    private let hasKills: Bool

    /// - Parameter length: the number of operations; nil: 40 to 200.
    static func sequence(_ seed: UInt64, length: Int?) -> OperationList {
        var generator = Generator(seed)
        let length = length ?? 40 + generator.random.below(161)
        while generator.sequence.operations.count < length { generator.add() }
        return generator.sequence
    }

    private init(_ seed: UInt64) {
        random = Random(seed)
        isShared = random.chance(3, in: 4)
        hasFaults = random.chance(3, in: 5)
        hasKills = random.chance(1, in: 2)
        sequence.seed = seed
        sequence.isPassthrough = random.chance(1, in: 2)
        sequence.hasChanges = random.chance(2, in: 3)
        sequence.signalsOwn = random.chance(1, in: 2)
        sequence.hasTrash = random.chance(1, in: 3)
    }

    private mutating func put(_ verb: Operation.Verb, _ paths: [String] = [], _ numbers: [Int] = []) {
        sequence.operations.append(Operation(verb, paths, numbers))
    }

    // MARK: Choices

    private static let fileNames = ["a", "b", "c"]
    private static let folderNames = ["d", "e"]

    private mutating func folder() -> String { random.pick(folders.sorted()) }
    private func inside(_ folder: String, _ name: String) -> String { folder.isEmpty ? name : folder + "/" + name }

    private mutating func newPath() -> String { inside(folder(), random.pick(Self.fileNames)) }

    private mutating func newFolder() -> String {
        let above = random.pick(folders.filter { $0.split(separator: "/").count < 2 }.sorted())
        return inside(above, random.pick(Self.folderNames))
    }

    /// An existing path, mostly.
    private mutating func path() -> String {
        files.isEmpty || random.chance(1, in: 10) ? newPath() : random.pick(files.sorted())
    }

    private mutating func content() -> [Int] {
        token += 1
        return [token, random.pick([0, 3, 8, 20, 60, 60, 200, 5_000, 20_000])]
    }

    private mutating func seed() -> Int { random.below(1_000_000) }

    // MARK: Operations

    private mutating func add() {
        let kinds: [(Int, (inout Generator) -> Void)] = [
            (30, { $0.programByPath() }), (14, { $0.programWithFile() }), (10, { $0.names() }),
            (6, { $0.attributes() }),
            (7, { $0.user() }), (isShared ? 14 : 0, { $0.otherClient() }), (hasFaults ? 7 : 0, { $0.trouble() }),
            (20, { $0.time() }), (hasKills ? 2 : 0, { $0.put(.kill, [], [$0.seed()]) }),
            (1, { $0.put(.settle, [], [$0.seed()]) }),
        ]
        var choice = random.below(kinds.reduce(0) { $0 + $1.0 })
        for (weight, body) in kinds {
            if choice < weight { return body(&self) }
            choice -= weight
        }
    }

    private mutating func programByPath() {
        switch random.below(12) {
        case 0, 1, 2:
            let path = random.chance(1, in: 2) ? newPath() : path()
            files.insert(path)
            put(.save, [path], content())
        case 3, 4: put(.append, [path()], content())
        case 5: put(.patch, [path()], [random.pick([0, 2, 50, 4_000, 9_000])] + content())
        case 6: put(.truncate, [path()], [random.pick([0, 1, 10, 4_096, 9_999])])
        case 7: put(.readAll, [path()])
        case 8: put(.list, [folder()])
        case 9, 10:
            let path = path()
            files.insert(path)
            put(.replace, [path], content())
        default:
            let path = path()
            put(.backup, [path], content())
        }
    }

    private mutating func programWithFile() {
        guard let slot = slots.isEmpty || random.chance(1, in: 5) ? nil : random.pick(slots.sorted()) else {
            let slot = random.below(3)
            let kind = random.below(4)
            let path = path()
            if kind >= 2 { files.insert(path) }
            slots.insert(slot)
            return put(.open, [path], [slot, kind])
        }
        switch random.below(12) {
        case 0, 1, 2, 3: put(.write, [], [slot, random.pick([0, 0, 5, 100, 4_500])] + content())
        case 4: put(.read, [], [slot])
        case 5: put(.truncateOpen, [], [slot, random.pick([0, 7, 4_096])])
        case 6: put(.sync, [], [slot])
        case 7: put(.punch, [], [slot, random.pick([0, 3, 4_096]), random.pick([1, 10, 4_096])])
        case 8: put(.allocate, [], [slot, 0, random.pick([10, 5_000])])
        case 9: put(.copy, [], [slot, random.pick(slots.sorted())])
        default:
            slots.remove(slot)
            put(.close, [], [slot])
        }
    }

    private mutating func names() {
        switch random.below(16) {
        case 0, 1:
            let folder = newFolder()
            folders.insert(folder)
            put(.mkdir, [folder])
        case 2: put(.rmdir, [newFolder()])
        case 3, 4, 5:
            let path = path()
            files.remove(path)
            put(.unlink, [path])
        case 6, 7, 8, 9:
            let (path, other) = (path(), random.chance(1, in: 2) ? newPath() : path())
            if path != other { files.remove(path) }
            files.insert(other)
            put(random.chance(1, in: 5) ? .renameNew : .rename, [path, other])
        case 10, 11:
            let (path, other) = (newFolder(), newFolder())
            for inside in files where inside.hasPrefix(path + "/") {
                files.remove(inside)
                files.insert(other + inside.dropFirst(path.count))
            }
            folders.insert(other)
            put(.rename, [path, other])
        case 12: put(.exchange, [path(), path()])
        case 13, 14:
            let other = newPath()
            put(.link, [path(), other])
            files.insert(other)
        default:
            token += 1
            put(.symlink, [inside(folder(), random.pick(["l", "m"]))], [token])
        }
    }

    private mutating func attributes() {
        let path = random.chance(1, in: 5) ? newFolder() : path()
        switch random.below(5) {
        case 0, 1: put(.chmod, [path], [random.pick([0o644, 0o755, 0o600])])
        case 2: put(.touch, [path], [1_700_000_000 + random.below(1_000)])
        case 3:
            token += 1
            put(.setAttribute, [path], [random.below(2), token, random.pick([1, 10, 100])])
        default: put(.removeAttribute, [path], [random.below(2)])
        }
    }

    private mutating func user() {
        switch random.below(9) {
        case 0, 1, 2, 3: put(.evict, [path()])
        case 4: put(.download, [path()])
        case 5: put(random.chance(1, in: 2) ? .pin : .unpin, [random.chance(1, in: 3) ? newFolder() : path()])
        case 6: put(.pause)
        case 7: put(.resume)
        default: put(.hurry)
        }
    }

    private mutating func otherClient() {
        switch random.below(10) {
        case 0, 1, 2, 3:
            let path = random.chance(1, in: 3) ? newPath() : path()
            files.insert(path)
            put(.remotePut, [path], content())
        case 4, 5:
            let (path, other) = (path(), newPath())
            files.insert(other)
            put(.remoteMove, [path, other])
        case 6: put(.remoteMove, [newFolder(), newFolder()])
        case 7: put(.remoteDelete, [random.chance(1, in: 4) ? newFolder() : path()])
        case 8:
            let folder = newFolder()
            folders.insert(folder)
            put(.remoteFolder, [folder])
        default:
            token += 1
            put(.remoteAttribute, [path()], [random.below(2), token, 10])
        }
    }

    private mutating func trouble() {
        switch random.below(8) {
        case 0: put(.offline)
        case 1, 2: put(.online)
        case 3: put(.forgetChanges)
        default:
            put(.fault, [], [random.below(World.hooks.count), random.below(GatedStore.Fault.allCases.count), 0])
        }
    }

    private mutating func time() {
        switch random.below(4) {
        case 0, 1: put(.run, [], [random.pick([1, 5, 20, 100, 500]), seed()])
        default: put(.wait, [], [random.pick([1, 300, 1_100, 3_000, 20_000, 400_000]), seed()])
        }
    }
}
