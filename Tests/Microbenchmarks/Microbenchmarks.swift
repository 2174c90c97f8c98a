import Foundation

/// Measures the hot paths, each alone, without kernel, network or provider, beside the local file system's time for a
/// similar operation, if there is one. For inspection, and to compare two builds on one machine; nothing passes or
/// fails.
@main
enum Microbenchmarks {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let isQuick = arguments.contains("--quick")
        let only = arguments.firstIndex(of: "--only").flatMap {
            arguments.indices.contains($0 + 1) ? arguments[$0 + 1] : nil
        }
        let items = arguments.firstIndex(of: "--items").flatMap {
            arguments.indices.contains($0 + 1) ? Int(arguments[$0 + 1]) : nil
        }
        let folder = NSTemporaryDirectory() + "hydrant-microbench-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }

        let stage = try await Stage(folder: folder, documents: isQuick ? 500 : 10_000)
        var results: [Timing.Result] = []
        let all =
            try await nameBenchmarks(stage) + documentBenchmarks(stage) + catalogBenchmarks(stage)
            + contentBenchmarks(stage)
            + parsingBenchmarks()
            + searchBenchmarks(folder + "/search", items: items ?? (isQuick ? 2_000 : 100_000))
        for benchmark in all where only == nil || benchmark.name.contains(only!) {
            results.append(try await Timing(isQuick: isQuick).run(benchmark))
        }
        await stage.stop()

        if arguments.contains("--json") {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            print(String(decoding: try encoder.encode(results), as: UTF8.self))
        } else {
            print("                                                       ours, µs   native, µs   ratio")
            for result in results { print(result.line) }
        }
    }
}
