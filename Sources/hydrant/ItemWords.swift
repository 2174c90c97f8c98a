import ArgumentParser

/// What stands for items in a command line that is to be run: an argument of its own, which becomes the path, or several. In
/// an argument it would be a part of a script, in which a path may be anything, so there it is refused.
enum ItemWords {
    static let items = "{}"
    static let folder = "{folder}"

    static func check(_ command: [String], _ names: [String]) throws(ValidationError) {
        for word in command {
            guard let name = names.first(where: { word != $0 && word.contains($0) }) else { continue }
            throw ValidationError(
                "\(name) within “\(word)” stays as it is: write it as an argument of its own, as in sh -c 'cat \"$@\"' sh \(name); "
                    + "a script that has \(name) for itself goes into a file")
        }
    }

    static func replaced(in command: [String], by items: [String: [String]]) -> [String] {
        command.flatMap { items[$0] ?? [$0] }
    }
}
