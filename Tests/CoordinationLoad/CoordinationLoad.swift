import FileCoordination
import Foundation
import Synchronization

/// One of many processes that coordinate at random in one mount: `hydrant-coordination-load MOUNT MARKS SEED SECONDS`.
///
/// Whoever has an item leaves a mark for it in a folder outside the mount, named for how he has it and for his process, and
/// then looks who else has left one: whoever overlaps, one of the two sees it. What a killed process left does not count.
@main
struct CoordinationLoad {
    struct Counts: Codable {
        var reads = 0, writes = 0, folders = 0, nested = 0
        var deadlocks = 0, timeouts = 0, otherErrors = 0
        var overlaps = 0
        /// The longest wait for a grant, in seconds.
        var longest = 0.0
        var firstError: String?
    }

    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count == 5, let seed = UInt64(words[3]), let seconds = Double(words[4]) else {
            print("usage: hydrant-coordination-load MOUNT MARKS SEED SECONDS")
            exit(64)
        }
        let load = CoordinationLoad(mount: words[1], marks: words[2])
        var random = SplitMix(state: seed)
        var counts = Counts()
        let end = ContinuousClock.now + .seconds(seconds)
        while .now < end { await load.step(&random, &counts, depth: 0) }
        print(String(decoding: try JSONEncoder().encode(counts), as: UTF8.self))
    }

    let mount: String
    let marks: String
    static let folders = 20
    static let documents = 50

    struct Target {
        var folder: Int
        /// Nil: the folder itself.
        var document: Int?
        var isWriting: Bool
        var path: String { document.map { "f\(folder)/d\($0)" } ?? "f\(folder)" }
    }

    private func target(_ random: inout SplitMix) -> Target {
        // Half of them want the same few.
        let folder = random.below(2) == 0 ? random.below(2) : random.below(Self.folders)
        let isFolder = random.below(20) == 0
        let document = random.below(2) == 0 ? random.below(5) : random.below(Self.documents)
        return Target(folder: folder, document: isFolder ? nil : document, isWriting: isFolder || random.below(3) == 0)
    }

    func step(_ random: inout SplitMix, _ counts: inout Counts, depth: Int) async {
        let targets = (0...random.below(3)).map { _ in target(&random) }
        let intents = targets.map { target -> FileAccessIntent in
            let url = URL(filePath: mount + "/" + target.path, directoryHint: .notDirectory)
            return target.isWriting ? .writingIntent(with: url) : .readingIntent(with: url)
        }
        let start = ContinuousClock.now
        do {
            let pause = random.below(20)
            let goesOn = depth < 2 && random.below(4) == 0
            var (innerRandom, innerCounts) = (random, counts)
            try await FileCoordinator().coordinate(with: intents, timeout: .seconds(120)) { _ in
                let seconds = start.duration(to: .now) / .seconds(1)
                innerCounts.longest = max(innerCounts.longest, seconds)
                for target in targets {
                    if target.document == nil { innerCounts.folders += 1 }
                    if target.isWriting { innerCounts.writes += 1 } else { innerCounts.reads += 1 }
                }
                let left = try leaveMarks(targets)
                innerCounts.overlaps += overlaps(targets)
                usleep(UInt32(pause * 1_000))
                if goesOn {
                    innerCounts.nested += 1
                    await step(&innerRandom, &innerCounts, depth: depth + 1)
                }
                innerCounts.overlaps += overlaps(targets)
                for mark in left { unlink(mark) }
            }
            (random, counts) = (innerRandom, innerCounts)
        } catch let error as CoordinationError where error.code == .wouldDeadlock {
            counts.deadlocks += 1
        } catch let error as CoordinationError where error.code == .timedOut {
            counts.timeouts += 1
        } catch {
            counts.otherErrors += 1
            counts.firstError = counts.firstError ?? "\(error)"
        }
    }

    // MARK: Marks

    private static let count = Mutex(0)

    /// `f3.d7` or `f3`; `w` or `r`; the process; a number.
    private func leaveMarks(_ targets: [Target]) throws -> [String] {
        try targets.map { target in
            let number = Self.count.withLock { count in
                count += 1
                return count
            }
            let name = target.path.replacing("/", with: ".")
            let mark = "\(marks)/f\(target.folder)/\(name),\(target.isWriting ? "w" : "r"),\(getpid()),\(number)"
            let descriptor = open(mark, O_CREAT | O_EXCL | O_WRONLY, 0o600)
            guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
            close(descriptor)
            return mark
        }
    }

    private func overlaps(_ targets: [Target]) -> Int {
        var found = 0
        for target in targets {
            let own = target.path.replacing("/", with: ".")
            let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(marks)/f\(target.folder)")) ?? []
            for name in names {
                let parts = name.split(separator: ",")
                guard parts.count == 4, let pid = Int32(parts[2]), pid != getpid() else { continue }
                let isWriting = parts[1] == "w"
                let isSame = parts[0] == own
                // A writer of the folder has what is in it.
                let isBelow = target.document == nil && target.isWriting
                let isAbove = isWriting && parts[0] == "f\(target.folder)"
                guard isSame && (isWriting || target.isWriting) || isBelow || isAbove else { continue }
                if Self.isAlive(pid) { found += 1 }
            }
        }
        return found
    }

    private static func isAlive(_ pid: Int32) -> Bool {
        guard let data = FileManager.default.contents(atPath: "/proc/\(pid)/stat") else { return false }
        let text = String(decoding: data, as: UTF8.self)
        guard let end = text.range(of: ") ", options: .backwards) else { return false }
        return !"ZX".contains(text[end.upperBound])
    }
}

struct SplitMix: Sendable {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return Int((value ^ value >> 31) % UInt64(bound))
    }
}
