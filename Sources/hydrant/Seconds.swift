import ArgumentParser
import Surroundings

/// The time that a command waits at most, as a user writes it.
struct Seconds: ExpressibleByArgument {
    let value: Double

    init?(argument: String) {
        guard let value = Double(argument), WaitingTime.isPossible(value) else { return nil }
        self.value = value
    }

    init(_ value: Double) { self.value = value }

    var defaultValueDescription: String { value == value.rounded() ? "\(Int(value))" : "\(value)" }
}
