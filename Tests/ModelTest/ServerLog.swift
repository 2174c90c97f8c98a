import Glibc

/// Apache's log of requests, each with its begin and its duration.
struct ServerLog {
    /// `LogFormat`: seconds since 1970 with their fraction, microseconds, method, status, path, and the target of a MOVE
    /// or COPY. (`TestServer` writes it.)
    let path: String
    /// The path of the mounted folder in URLs.
    let root: String

    /// In seconds since 1970.
    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// The requests at these paths, in a folder above or below them, that changed something and were under way at this
    /// time.
    func changes(during time: ClosedRange<Double>, at paths: [String]) -> [String] {
        let lines = String(decoding: Files.read(path) ?? [], as: UTF8.self).split(separator: "\n")
        return lines.filter { line in
            let words = line.split(separator: " ")
            guard words.count == 6, let begin = Double(words[0]), let duration = Double(words[1]), duration >= 0,
                ["PUT", "MOVE", "COPY", "DELETE", "MKCOL"].contains(words[2]), words[3].hasPrefix("2")
            else { return false }
            guard (begin...(begin + duration / 1e6)).overlaps(time) else { return false }
            return [words[4], words[5]].contains { place in
                guard let start = place.firstRange(of: root) else { return false }
                return paths.contains { Self.meet(place[start.upperBound...], "/" + $0) }
            }
        }.map(String.init)
    }

    /// Whether they are the same, or one is a folder above the other.
    private static func meet(_ one: Substring, _ other: String) -> Bool {
        let (one, other) = (one.hasSuffix("/") ? String(one) : one + "/", other + "/")
        return one.hasPrefix(other) || other.hasPrefix(one)
    }
}
