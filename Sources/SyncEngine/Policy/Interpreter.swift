/// A program that runs scripts. The script is its first argument that is neither an option nor an option's value.
struct Interpreter {
    private let name: String
    /// Options followed by code or a module's name: there is no script then.
    private var ends = ""
    /// Options whose value is the next word, unless the value is in the same word.
    private var valued = ""
    /// Options whose value, if any, is in the same word.
    private var attached = ""
    /// Long options like those of ``ends`` and ``valued``.
    private var longEnds: Set<String> = []
    private var longValued: Set<String> = []

    /// Sources: python(1), perlrun(1), ruby(1), node(1), gjs(1), bash(1), dash(1), ld.so(8). KDE's worker processes get
    /// their plug-in as first argument.
    private static let all = [
        Interpreter(name: "python", ends: "cm", valued: "WX", longValued: ["--check-hash-based-pycs"]),
        Interpreter(name: "perl", ends: "eE", valued: "I", attached: "MmiFxDd"),
        Interpreter(
            name: "ruby", ends: "e", valued: "rICE", attached: "xKFiTW0",
            longValued: ["--encoding", "--external-encoding", "--internal-encoding", "--enable", "--disable"]),
        Interpreter(
            name: "node", ends: "ep", valued: "rC", longEnds: ["--eval", "--print"],
            longValued: ["--require", "--import", "--loader", "--experimental-loader", "--conditions"]),
        Interpreter(
            name: "gjs", ends: "c", valued: "IC", longEnds: ["--command"],
            longValued: ["--include-path", "--coverage-prefix", "--coverage-output"]),
        Interpreter(name: "bash", ends: "cs", valued: "oO", longValued: ["--rcfile", "--init-file"]),
        Interpreter(name: "dash", ends: "cs", valued: "o"), Interpreter(name: "sh", ends: "cs", valued: "oO"),
        Interpreter(name: "kioslave"), Interpreter(name: "kioworker"),
        Interpreter(
            name: "ld-linux", longValued: ["--library-path", "--argv0", "--preload", "--audit", "--inhibit-rpath"]),
    ]

    /// - Parameter executable: the file's name, perhaps with a suffix: `python3.11`, `nodejs`, `gjs-console`.
    static func named(_ executable: String) -> Interpreter? {
        all.first { interpreter in
            guard executable.hasPrefix(interpreter.name) else { return false }
            let rest = executable.dropFirst(interpreter.name.count)
            return rest.first.map { $0.isNumber || "-._".contains($0) } ?? true || executable == "nodejs"
        }
    }

    /// - Parameter words: the interpreter's arguments.
    /// - Returns: nil: there is no script.
    func script(_ words: [String]) -> String? {
        var words = words[...]
        while let word = words.popFirst() {
            if word == "--" { return words.first }
            if word == "-" || longEnds.contains(word) { return nil }
            if longValued.contains(word) {
                words = words.dropFirst()
            } else if word.hasPrefix("--") {
                continue
            } else if word.hasPrefix("-") || (word.hasPrefix("+") && valued.contains("o")) {
                letters: for (index, letter) in word.dropFirst().enumerated() {
                    if ends.contains(letter) { return nil }
                    if valued.contains(letter) {
                        if index + 2 == word.count { words = words.dropFirst() }
                        break letters
                    }
                    if attached.contains(letter) { break letters }
                }
            } else {
                return word
            }
        }
        return nil
    }
}
