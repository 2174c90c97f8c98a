import ArgumentParser
import DocumentPicker
import Foundation
import UniformTypes

struct PickersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pickers", abstract: "List the places that document pickers offer; order or switch them off.",
        discussion: """
            Examples:
              hydrant pickers
              hydrant pickers --order work,photos --off scratch
              hydrant pickers --on scratch --json | jq -r '.[] | select(.modes | index("export")) | .id'
            """)

    @Option(help: ArgumentHelp("The places to offer first, in this order; separated by commas.", valueName: "ids"))
    var order: String?

    @Option(help: ArgumentHelp("A place to switch off; may be repeated.", valueName: "id"))
    var off: [String] = []

    @Option(help: ArgumentHelp("A place to switch on again; may be repeated.", valueName: "id"))
    var on: [String] = []

    @Flag(help: "Print an array of objects: id, title, modes, types, mountPoint, off, problem.")
    var json = false

    private struct Line: Encodable {
        var id: String
        var title: String
        var modes: [String]
        var types: [String]
        var mountPoint: String?
        var off: Bool
        var problem: String?

        private enum CodingKeys: String, CodingKey { case id, title, modes, types, mountPoint, off, problem }

        // By hand, to keep the keys of nil values.
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(id, forKey: .id)
            try container.encode(title, forKey: .title)
            try container.encode(modes, forKey: .modes)
            try container.encode(types, forKey: .types)
            try container.encode(mountPoint, forKey: .mountPoint)
            try container.encode(off, forKey: .off)
            try container.encode(problem, forKey: .problem)
        }
    }

    func run() async throws {
        var preferences = PickerPreferences.load()
        let (all, problems) = await PickerProvider.all()
        for problem in problems { warn(problem) }
        let wanted = order.map { $0.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) } }
        // The preferences may name places that are not mounted now.
        let known = Set(all.map(\.id)).union(preferences.order).union(preferences.off)
        if let unknown = ((wanted ?? []) + off + on).first(where: { !known.contains($0) }) {
            throw fail("“\(unknown)”: no such place, nothing was changed; hydrant pickers lists the places")
        }
        if let wanted { preferences.order = wanted }
        preferences.off.formUnion(off)
        preferences.off.subtract(on)
        if order != nil || !off.isEmpty || !on.isEmpty {
            do { try preferences.save() } catch { throw fail("\(error)") }
        }
        let hidden = all.filter { preferences.off.contains($0.id) }
        let lines = (preferences.arranged(all) + hidden).map { provider in
            Line(
                id: provider.id, title: provider.title, modes: provider.manifest.modes.map(\.rawValue).sorted(),
                types: provider.manifest.supportedTypes.map(\.identifier), mountPoint: provider.mountPoint,
                off: preferences.off.contains(provider.id), problem: provider.problem)
        }
        if json { return try StandardOutput.write(Output.json(lines)) }
        for line in lines {
            let state = line.problem ?? (line.off ? "off" : line.modes.joined(separator: ", "))
            try StandardOutput.write(["\(line.id)  \(line.title)  (\(state))"])
        }
    }
}
