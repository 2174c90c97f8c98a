import CModelTest
import Glibc

/// `hydrant-model-test`: plays random sequences against the model, some in one process; `scripts/model-test` starts it.
@main
struct ModelTest {
    static func main() {
        let arguments = CommandLine.arguments
        // Gives sets and dictionaries the same order in each run.
        if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
            var words = arguments.map { strdup($0) } + [nil]
            cmodeltest_restart("SWIFT_DETERMINISTIC_HASHING", "1", &words)
            fatalError("cannot start anew: \(String(cString: strerror(errno)))")
        }
        do { try exit(Command(Array(arguments.dropFirst())).run()) } catch {
            say("hydrant-model-test: \(error)")
            exit(2)
        }
    }
}

struct Command {
    struct Misuse: Error, CustomStringConvertible { var description: String }

    private var first: UInt64?
    private var count = 1
    private var length: Int?
    private var replay: [String] = []
    private var shrinks = false
    private var isVerbose = false
    private var isTwice = false
    private var prints = false
    private var isMounted = false
    private var playsRules = false
    private var output: String?
    private var server = MountedWorld.Server(url: "", folder: "", settings: "")
    private let directory: String

    static let usage = """
        usage: hydrant-model-test --seed S [--count N] [--operations N] [--shrink FILE] [--twice] [--verbose]
               hydrant-model-test --replay FILE... [--shrink FILE] [--verbose]

        --seed S        the first sequence's seed; the next sequences have the next seeds
        --count N       how many sequences (default 1)
        --operations N  how many operations each has (default: 40 to 200, as the seed says)
        --replay FILE   plays the sequence in a file
        --shrink FILE   makes a sequence that fails as short as it can, and leaves it in FILE
        --twice         plays each sequence twice, which must do the same
        --rules         plays simulations on the rules of syncing alone, in memory; only --seed and --count count
        --mount         plays at a real mount, with the hydrant beside this program (or $HYDRANT_EXECUTABLE)
        --server URL    with --mount: at a mount of this WebDAV folder, or of this bucket (s3://NAME)
        --folder DIR    where the WebDAV folder is on this machine: the other client works there; it is emptied
        --endpoint URL  the server of the bucket, with the keys of the tests: the other client works there
        --log FILE      with --server: the log of an Apache (ServerLog): which of its requests met a change in the folder
        --settings TEXT what config.toml says of it besides: user, password-command, certificate-authority
        --print         says which operations a sequence has, and plays nothing
        --verbose       tells what happens
        """

    init(_ arguments: [String]) throws(Misuse) {
        var left = arguments[...]
        func value(_ name: String) throws(Misuse) -> String {
            guard let value = left.popFirst() else { throw Misuse(description: "\(name) needs a value") }
            return value
        }
        func number<T: FixedWidthInteger>(_ name: String) throws(Misuse) -> T {
            let text = try value(name)
            guard let number = T(text) else { throw Misuse(description: "\(name): “\(text)” is not a number") }
            return number
        }
        while let word = left.popFirst() {
            switch word {
            case "--seed", "-s": first = try number(word)
            case "--count", "-n": count = try number(word)
            case "--operations", "-o": length = try number(word)
            case "--replay", "-r": replay.append(try value(word))
            case "--shrink":
                shrinks = true
                output = try value(word)
            case "--verbose", "-v": isVerbose = true
            case "--twice": isTwice = true
            case "--server": server.url = try value(word)
            case "--folder": server.folder = try value(word)
            case "--endpoint": server.endpoint = try value(word)
            case "--log": server.log = try value(word)
            case "--settings": server.settings = try value(word)
            case "--print": prints = true
            case "--mount": isMounted = true
            case "--rules": playsRules = true
            case "--help", "-h":
                say(Self.usage)
                exit(0)
            default: throw Misuse(description: "unknown argument \(word)\n\(Self.usage)")
            }
        }
        if (first == nil) == replay.isEmpty { throw Misuse(description: "either --seed or --replay\n\(Self.usage)") }
        if server.url.isEmpty != (server.folder.isEmpty && server.endpoint.isEmpty) {
            throw Misuse(description: "--server and --folder or --endpoint belong together\n\(Self.usage)")
        }
        let place = !isMounted && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
        directory = "\(place)/hydrant-model-\(getpid())"
    }

    /// 0: no sequence failed; 1: one failed.
    func run() throws -> Int32 {
        if playsRules { return playRules() }
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(7), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(7), &limit)
        if !isMounted { RuntimeHooks.install() }
        sweep()
        mkdir(directory, 0o700)
        defer { Files.removeTree(directory) }
        var sequences: [(name: String, sequence: OperationList)] = []
        for file in replay {
            guard let bytes = Files.read(file) else { throw Misuse(description: "\(file): cannot be read") }
            do throws(BadSequence) {
                sequences.append((file, try OperationList(text: String(decoding: bytes, as: UTF8.self))))
            } catch {
                throw Misuse(description: "\(file): “\(error.line)” is not an operation")
            }
        }
        if let first {
            for seed in first..<(first + UInt64(count)) {
                sequences.append(("seed \(seed)", Generator.sequence(seed, length: length)))
            }
        }
        var operations = 0
        if prints {
            for (_, sequence) in sequences { say(sequence.text) }
            return 0
        }
        for (name, sequence) in sequences {
            // Printed before, so that the reader knows at which sequence a crash happened.
            say("begin \(name) \(sequence.operations.count)")
            let result = play(sequence)
            operations += sequence.operations.count
            if isVerbose { say(result.story.joined(separator: "\n")) }
            if isTwice, play(sequence).trace != result.trace {
                say("differs \(name): two runs differ")
                return 1
            }
            guard let violation = result.violation else { continue }
            say("failed \(name): \(violation)")
            if shrinks, let output { try shrink(sequence, violation, to: output) }
            return 1
        }
        say(
            "done \(sequences.count) sequences, \(operations) operations, trace \(String(Schedule.shared.trace, radix: 36))"
        )
        return 0
    }

    private func playRules() -> Int32 {
        var operations = 0
        for seed in (first ?? 0)..<((first ?? 0) + UInt64(count)) {
            let result = RulesRun.play(seed: seed)
            say("begin seed \(seed) \(result.operations)")
            operations += result.operations
            if let violation = result.violation {
                say("failed seed \(seed): \(violation)")
                return 1
            }
        }
        say("done \(count) sequences, \(operations) operations")
        return 0
    }

    /// Removes leftovers of killed processes.
    private func sweep() {
        let (folder, own) = Model.split(directory)
        for name in Files.names("/" + folder) where name.hasPrefix("hydrant-model-") && name != own {
            guard let pid = pid_t(name.dropFirst(14)), kill(pid, 0) != 0, errno == ESRCH else { continue }
            umount2("/\(folder)/\(name)/mounted/mnt", 2)
            Files.removeTree("/\(folder)/\(name)")
        }
    }

    private func play(_ sequence: OperationList) -> (violation: String?, story: [String], trace: UInt64) {
        if isMounted { return playMounted(sequence) }
        let world: World
        do { world = try World(sequence, directory: directory + "/world") } catch {
            return ("cannot begin: \(error)", [], 0)
        }
        world.keepsStory = isVerbose
        var player = Player(world: world)
        let violation = player.play()
        let trace = Schedule.shared.trace
        world.end()
        return (violation, world.story, trace)
    }

    /// The part of a violation that must stay the same while a sequence is shortened.
    private static func kind(_ violation: String) -> String {
        let kinds = ["lost", "came back", "half-written", "both sides do not become the same", "cannot start again"]
        return kinds.first { violation.hasPrefix($0) } ?? (violation.contains("never") ? "hangs" : "shows")
    }

    private func playMounted(_ sequence: OperationList) -> (violation: String?, story: [String], trace: UInt64) {
        do {
            let world = try MountedWorld(
                directory: directory + "/mounted", hydrant: Self.hydrant, server: server.url.isEmpty ? nil : server)
            defer { world.end() }
            let player = MountedPlayer(sequence, world)
            let violation = player.play()
            return (violation, player.story, 0)
        } catch {
            return ("\(error)", [], 0)
        }
    }

    private static var hydrant: String {
        if let named = getenv("HYDRANT_EXECUTABLE") { return String(cString: named) }
        var own = [CChar](repeating: 0, count: 4_096)
        readlink("/proc/self/exe", &own, own.count - 1)
        let path = String(decoding: own.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return "/" + Model.split(path).folder + "/hydrant"
    }

    private func shrink(_ sequence: OperationList, _ violation: String, to output: String) throws {
        let kind = Self.kind(violation)
        // At a mount each attempt takes seconds.
        var shrinker = Shrinker(fails: { play($0).violation.map(Self.kind) == kind }, attempts: isMounted ? 60 : 1_500)
        let short = shrinker.shrink(sequence)
        let result = play(short)
        let text = "# \(result.violation ?? violation)\n\(short.text)"
        try Files.write(Array(text.utf8), to: output)
        say("shrunk to \(short.operations.count) operations, in \(output):\n\(text)")
    }
}

/// Prints a line at once: the reader knows the progress when the process is killed.
func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    write(1, bytes, bytes.count)
}
