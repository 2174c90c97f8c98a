import ArgumentParser

/// The placeholders for items in a command line to run, such as `{}`: an argument of its own becomes the path, or the
/// paths. Within an argument it is refused: the argument may be a script, and a path in it could be anything.
enum ItemWords {
    static let items = "{}"
    static let folder = "{folder}"

    static func check(_ command: [String], _ names: [String]) throws(ValidationError) {
        for word in command {
            guard let name = names.first(where: { word != $0 && word.contains($0) }) else { continue }
            throw ValidationError(
                "\(name) within “\(word)” is not replaced: write it as an argument of its own, as in sh -c 'cat \"$@\"' sh \(name); "
                    + "put a script that needs \(name) itself into a file")
        }
    }

    static func replaced(in command: [String], by items: [String: [String]]) -> [String] {
        command.flatMap { items[$0] ?? [$0] }
    }
}
