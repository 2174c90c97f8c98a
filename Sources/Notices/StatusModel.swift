import ControlAPI
import Surroundings

/// What the status icon and its menu say, as values.
package struct StatusModel: Sendable, Equatable {
    /// In the order of their urgency.
    package enum State: Int, Sendable, Comparable, CaseIterable {
        case upToDate, transferring, paused, offline, needsYou
        package static func < (one: State, other: State) -> Bool { one.rawValue < other.rawValue }
    }

    /// What a line of the menu does.
    package enum Deed: Sendable, Hashable {
        case openFolder(String)
        case pause(String)
        case resume(String)
        case showNeeds(String)
        case quit
    }

    package struct Line: Sendable, Equatable {
        /// The same for as long as the line means the same.
        package var key: String
        /// Empty: a line that separates.
        package var label: String
        /// Nil: the line only says something.
        package var deed: Deed?
    }

    package struct Domain: Sendable {
        package var snapshot: DomainSnapshot
        package var needs: Int
        /// No daemon answers.
        package var isSilent: Bool

        package init(_ snapshot: DomainSnapshot, needs: Int, isSilent: Bool = false) {
            self.snapshot = snapshot
            self.needs = needs
            self.isSilent = isSilent
        }

        var state: State {
            let status = snapshot.status
            if needs > 0 { return .needsYou }
            if isSilent || status.connection?.isOnline == false { return .offline }
            if status.settings?.isPaused == true { return .paused }
            return status.transfers?.isEmpty == false || !status.pending.isEmpty ? .transferring : .upToDate
        }
    }

    package private(set) var state: State
    package private(set) var isIdle: Bool
    package private(set) var tooltip: String
    package private(set) var lines: [Line]

    private static let mostTransfers = 3

    /// - Parameter domains: in the order of the menu.
    package init(_ domains: [Domain], _ words: NoticeWords) {
        state = domains.map(\.state).max() ?? .upToDate
        isIdle = domains.isEmpty
        let sayings = domains.map { "\(ShownText.line($0.snapshot.title)): \(words.state(of: $0))" }
        let nothing = words.text("Nothing is mounted", "Nichts ist eingehängt")
        tooltip = sayings.isEmpty ? nothing : sayings.joined(separator: "\n")
        lines = sayings.isEmpty ? [Line(key: "nothing", label: nothing)] : []
        for (domain, saying) in zip(domains, sayings) {
            let status = domain.snapshot.status
            let place = status.mountPoint
            lines.append(Line(key: "state " + place, label: saying))
            for transfer in (status.transfers ?? []).prefix(Self.mostTransfers) {
                let share =
                    transfer.total > 0 ? " \(Int(min(1, Double(transfer.bytes) / Double(transfer.total)) * 100)) %" : ""
                let arrow = transfer.direction == .download ? "↓ " : "↑ "
                lines.append(
                    Line(key: "transfer \(transfer.path)", label: arrow + NoticeWords.name(transfer.path) + share))
            }
            if domain.needs > 0 {
                let label =
                    domain.needs == 1
                    ? words.text("1 thing needs you", "1 Sache braucht Sie")
                    : words.text("\(domain.needs) things need you", "\(domain.needs) Sachen brauchen Sie")
                lines.append(Line(key: "needs " + place, label: label, deed: .showNeeds(place)))
            }
            lines.append(
                Line(key: "open " + place, label: words.text("Open folder", "Ordner öffnen"), deed: .openFolder(place)))
            if !domain.isSilent {
                lines.append(
                    status.settings?.isPaused == true
                        ? Line(key: "resume " + place, label: words.text("Resume", "Fortsetzen"), deed: .resume(place))
                        : Line(key: "pause " + place, label: words.text("Pause", "Anhalten"), deed: .pause(place)))
            }
            lines.append(Line(key: "line " + place, label: ""))
        }
        lines.append(Line(key: "quit", label: words.text("Quit", "Beenden"), deed: .quit))
    }

    /// Of the icon theme (freedesktop.org, *Icon Naming Specification*).
    package var icon: String {
        switch state {
        case .upToDate: "folder-remote"
        case .transferring: "emblem-synchronizing"
        case .paused: "media-playback-pause"
        case .offline: "network-offline"
        case .needsYou: "dialog-warning"
        }
    }
}

extension NoticeWords {
    fileprivate func state(of domain: StatusModel.Domain) -> String {
        let status = domain.snapshot.status
        if domain.isSilent { return text("does not answer", "antwortet nicht") }
        if status.connection?.isOnline == false { return text("offline", "offline") }
        if status.settings?.isPaused == true { return text("paused", "angehalten") }
        if let count = status.transfers?.count, count > 0 {
            return count == 1
                ? text("1 transfer", "1 Übertragung") : text("\(count) transfers", "\(count) Übertragungen")
        }
        let waiting = status.pending.count
        if waiting > 0 {
            return waiting == 1
                ? text("1 change waits", "1 Änderung wartet")
                : text("\(waiting) changes wait", "\(waiting) Änderungen warten")
        }
        return text("up to date", "aktuell")
    }
}
