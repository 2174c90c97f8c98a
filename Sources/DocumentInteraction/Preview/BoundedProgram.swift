/// A program that reads a document, within bounds: a document of a few bytes may ask for any amount of memory or disk.
enum BoundedProgram {
    /// The words that run it (ulimit of POSIX's shell, and of dash and bash for memory). The shell ends with 127 when there is no
    /// such program.
    ///
    /// - Parameters:
    ///   - memory: in bytes; nil: as much as it likes.
    ///   - file: how large any file becomes that it writes, in bytes.
    static func words(_ words: [String], memory: Int? = 4 << 30, file: Int = 256 << 20) -> [String] {
        // (In units of 1,024 bytes the one, of 512 the other.)
        let limits = (memory.map { "ulimit -v \($0 >> 10); " } ?? "") + "ulimit -f \(file >> 9); "
        return ["sh", "-c", limits + "exec \"$@\"", "sh"] + words
    }

    static let missing: Int32 = 127
}
