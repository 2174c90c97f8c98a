/// A program that reads a document, within bounds: a document of a few bytes may ask for any amount of memory or disk.
enum BoundedProgram {
    /// In bytes: of the address space of each of its processes.
    static let memory = 4 << 30

    /// The words that run it (ulimit of POSIX's shell, and of dash and bash for memory and time). The shell ends with 127 when there is
    /// no such program.
    ///
    /// - Parameters:
    ///   - seconds: of processor time: what is left of it goes on for so long if this process is killed.
    ///   - file: how large any file becomes that it writes, in bytes.
    static func words(_ words: [String], seconds: Int64, file: Int = 256 << 20) -> [String] {
        // (Memory in units of 1,024 bytes, files in those of 512.)
        let limits = "ulimit -v \(memory >> 10); ulimit -t \(seconds); ulimit -f \(file >> 9); "
        return ["sh", "-c", limits + "exec \"$@\"", "sh"] + words
    }

    static let missing: Int32 = 127
}
