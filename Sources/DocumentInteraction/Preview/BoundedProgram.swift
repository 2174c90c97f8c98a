/// Bounds a program that reads a document, because a document of a few bytes may make it use any amount of memory or
/// disk.
enum BoundedProgram {
    /// The address space of each of the program's processes, in bytes.
    static let memory = 4 << 30

    /// The words that run the program (ulimit of POSIX's shell, and of dash and bash for memory and time). The shell
    /// ends with 127 when there is no such program.
    ///
    /// - Parameters:
    ///   - seconds: of processor time; the program runs on for at most that long if this process is killed.
    ///   - file: the largest file that the program may write, in bytes.
    static func words(_ words: [String], seconds: Int64, file: Int = 256 << 20) -> [String] {
        // ulimit counts memory in units of 1,024 bytes, files in units of 512.
        let limits = "ulimit -v \(memory >> 10); ulimit -t \(seconds); ulimit -f \(file >> 9); "
        return ["sh", "-c", limits + "exec \"$@\"", "sh"] + words
    }

    static let missing: Int32 = 127
}
