package import ControlAPI
import Foundation
import Surroundings

/// The texts, in English or German.
package struct NoticeWords: Sendable {
    package enum Language: Sendable { case english, german }
    package var language: Language
    /// The words that sign in to a domain (`hydrant login NAME`); nil: it has no account of ours.
    package var signInCommand: @Sendable (DomainStatus) -> [String]?

    package init(_ language: Language, signInCommand: @escaping @Sendable (DomainStatus) -> [String]? = { _ in nil }) {
        self.language = language
        self.signInCommand = signInCommand
    }

    /// As gettext(3) chooses: LANGUAGE (a list), unless the locale is C; else LC_ALL, LC_MESSAGES, LANG.
    package static func language(of environment: [String: String]) -> Language {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].compactMap { environment[$0] }.first { !$0.isEmpty } ?? "C"
        let isPlain = ["C", "POSIX"].contains(locale.prefix { $0 != "." })
        let wanted = isPlain ? [] : (environment["LANGUAGE"] ?? "").split(separator: ":").map(String.init)
        for name in wanted + [locale] {
            switch name.prefix(while: { $0.isLetter }) {
            case "de": return .german
            case "en", "C", "POSIX": return .english
            default: continue
            }
        }
        return .english
    }

    func text(_ english: String, _ german: String) -> String { language == .english ? english : german }

    // MARK: Notices

    /// At least one cause.
    package func notice(_ key: NoticeKey, _ causes: [Cause], _ snapshot: DomainSnapshot) -> Notice {
        let (title, body) = words(key.kind, causes, snapshot)
        return Notice(
            key: key, title: title, body: body,
            buttons: buttons(key.kind, causes, snapshot).map {
                NoticeButton(action: $0, label: label($0, causes.count))
            },
            commands: commands(key, causes, snapshot), progress: progress(key.kind, causes),
            stays: key.kind != .download)
    }

    private func progress(_ kind: NoticeKind, _ causes: [Cause]) -> Int? {
        guard kind == .download else { return nil }
        let (done, total) = (causes.map(\.done).boundedSum, causes.map(\.total).boundedSum)
        return total > 0 ? min(100, max(0, Int(Double(done) / Double(total) * 100))) : nil
    }

    private func words(_ kind: NoticeKind, _ causes: [Cause], _ snapshot: DomainSnapshot) -> (String, String) {
        let (first, count) = (causes[0], causes.count)
        let name = Self.name(first.subject)
        let title = ShownText.line(snapshot.title)
        switch kind {
        case .conflict where count == 1:
            return (
                text("Two versions of \(name)", "Zwei Fassungen von \(name)"),
                text(ShownText.line(first.detail), Self.german(first.reason)) + "\n" + folder(first)
            )
        case .conflict:
            return (
                text("\(count) documents have two versions", "\(count) Dokumente haben zwei Fassungen"), list(causes)
            )
        case .refused where count == 1:
            return (
                text("The store refuses \(name)", "Der Speicher weist \(name) zurück"),
                ShownText.line(first.detail) + "\n" + folder(first)
            )
        case .refused:
            return (
                text("The store refuses \(count) changes", "Der Speicher weist \(count) Änderungen zurück"),
                list(causes)
            )
        case .signIn:
            return (
                text("Sign in to \(title)", "Bei \(title) anmelden"),
                text(
                    "The store asks for a password. Until then changes wait here.",
                    "Der Speicher verlangt ein Passwort. Bis dahin warten Änderungen hier.")
            )
        case .heldDeletions: return held(first, title)
        case .diskFull:
            return (
                text("The disk is full", "Die Festplatte ist voll"),
                text(
                    "\(Self.bytes(first.done)) are free. No document of \(title) can be downloaded until there is more.",
                    "\(Self.bytes(first.done)) sind frei. Bis dort mehr Platz ist, kommt kein Dokument aus \(title) herunter."
                )
            )
        case .download:
            let share = causes.map(\.done).boundedSum
            let total = causes.map(\.total).boundedSum
            let what = count == 1 ? name : text("\(count) documents", "\(count) Dokumente")
            return (
                text("Downloading \(what)", "\(what) wird geladen"),
                text("\(Self.bytes(share)) of \(Self.bytes(total))", "\(Self.bytes(share)) von \(Self.bytes(total))")
            )
        }
    }

    private func held(_ cause: Cause, _ title: String) -> (String, String) {
        let left =
            cause.done == 0
            ? ""
            : text(
                " \(cause.done) of them are not all on this machine and cannot be put back.",
                " \(cause.done) davon sind nicht ganz auf diesem Rechner und können nicht zurück.")
        return (
            text(
                "\(title): the store has deleted \(cause.total) items",
                "\(title): Der Speicher hat \(cause.total) Objekte gelöscht"),
            text("They stay here until you decide.", "Sie bleiben hier, bis Sie entscheiden.") + left
        )
    }

    private func buttons(_ kind: NoticeKind, _ causes: [Cause], _ snapshot: DomainSnapshot) -> [NoticeAction] {
        switch kind {
        case .conflict: causes.count == 1 ? [.compare, .keepMine, .keepTheirs, .keepBoth] : [.show, .keepBoth]
        case .refused: [.retry, .discard, .show]
        case .signIn: signInCommand(snapshot.status) == nil ? [] : [.signIn]
        case .heldDeletions: [.putBack, .deleteHere]
        case .diskFull: []
        case .download: [.cancelDownload]
        }
    }

    func label(_ action: NoticeAction, _ count: Int) -> String {
        switch action {
        case .show: text("Show", "Zeigen")
        case .compare: text("Open both", "Beide öffnen")
        case .keepMine: text("Keep mine…", "Meine behalten…")
        case .keepTheirs: text("Keep theirs…", "Deren behalten…")
        case .keepBoth: text("Keep both", "Beide behalten")
        case .retry: text("Try again", "Noch einmal")
        case .discard: text("Discard…", "Verwerfen…")
        case .signIn: text("Sign in", "Anmelden")
        case .deleteHere: text("Delete here too…", "Auch hier löschen…")
        case .putBack: text("Put back", "Zurücklegen")
        case .cancelDownload: text("Cancel", "Abbrechen")
        case .yes: text("Yes", "Ja")
        case .no: text("No", "Nein")
        }
    }

    private func commands(_ key: NoticeKey, _ causes: [Cause], _ snapshot: DomainSnapshot) -> [String] {
        let mount = Self.quoted(key.mountPoint)
        let first = Self.quoted(causes[0].subject)
        switch key.kind {
        case .conflict where causes.count == 1: return ["hydrant resolve \(first) --keep mine|theirs|both"]
        case .conflict: return ["hydrant conflicts \(mount)"]
        case .refused where causes.count == 1: return ["hydrant retry \(first)", "hydrant discard \(first)"]
        case .refused: return ["hydrant status \(mount)", "hydrant retry \(mount)"]
        case .signIn:
            return signInCommand(snapshot.status).map { [(["hydrant"] + $0.map(Self.quoted)).joined(separator: " ")] }
                ?? []
        case .heldDeletions: return ["hydrant resolve --keep theirs|mine \(mount)"]
        case .diskFull: return ["hydrant evict \(mount)"]
        case .download: return []
        }
    }

    // MARK: Questions

    /// A question before something is lost, or what went wrong.
    ///
    /// - Parameter lost: bytes that exist nowhere else; nil: not known.
    func question(_ action: NoticeAction, _ key: NoticeKey, _ causes: [Cause], lost: Int64?) -> Notice {
        let name = causes.count == 1 && !causes[0].subject.isEmpty ? Self.name(causes[0].subject) : nil
        let title =
            switch action {
            case .keepMine:
                text("Replace the other version of \(name ?? "")?", "Die andere Fassung von \(name ?? "") ersetzen?")
            case .keepTheirs: text("Remove your version of \(name ?? "")?", "Ihre Fassung von \(name ?? "") entfernen?")
            case .deleteHere:
                text("Delete \(causes[0].total) items here too?", "\(causes[0].total) Objekte auch hier löschen?")
            default:
                name.map { text("Discard the change of \($0)?", "Die Änderung an \($0) verwerfen?") }
                    ?? text("Discard \(causes.count) changes?", "\(causes.count) Änderungen verwerfen?")
            }
        let body =
            switch (action, lost) {
            case (.keepMine, _):
                text("Your contents become the document's.", "Ihr Inhalt wird der des Dokuments.")
            case (.keepTheirs, _):
                text(
                    "The conflicted copy is removed here and in the store.",
                    "Die Konfliktkopie wird hier und im Speicher entfernt.")
            case (.discard, let bytes?) where bytes > 0:
                text(
                    "\(Self.bytes(bytes)) that exist nowhere else are lost.",
                    "\(Self.bytes(bytes)), die es nirgends sonst gibt, gehen verloren.")
            case (.discard, _): text("The store's state comes back.", "Der Stand des Speichers kommt zurück.")
            default: ""
            }
        return Notice(
            key: key, title: title, body: body,
            buttons: [NoticeAction.yes, .no].map { NoticeButton(action: $0, label: label($0, 1)) }, commands: [])
    }

    /// The same notice, which says first that an action failed.
    func failed(_ message: String, _ notice: Notice) -> Notice {
        var notice = notice
        notice.body = text("Not done: ", "Nicht geschehen: ") + ShownText.line(message) + "\n" + notice.body
        return notice
    }

    // MARK: Parts

    static func name(_ path: String) -> String {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        return "“" + ShownText.line(String(name.prefix(80))) + (name.count > 80 ? "…" : "") + "”"
    }

    private func folder(_ cause: Cause) -> String {
        let above = cause.subject.split(separator: "/").dropLast().joined(separator: "/")
        return text("In ", "In ") + ShownText.line(String(("/" + above).prefix(200)))
    }

    private func list(_ causes: [Cause]) -> String {
        let names = causes.prefix(3).map { Self.name($0.subject) }.joined(separator: ", ")
        let more = causes.count - 3
        return more > 0 ? names + text(" and \(more) more", " und \(more) weitere") : names
    }

    private static func german(_ reason: String) -> String {
        switch reason {
        case "bothChanged": "Es wurde hier und im Speicher geändert."
        case "bothMade": "Es wurde hier und im Speicher angelegt."
        case "nameTaken": "Im Speicher hat etwas anderes seinen Namen."
        case "replacedWhileWritten": "Es wurde ersetzt, während ein Programm es schrieb."
        case "editedMeanwhile": "Es wurde inzwischen geändert."
        case "powerLoss": "Der Strom fiel aus, bevor feststand, welche Fassung gilt."
        default: "Es gibt zwei Fassungen."
        }
    }

    static func bytes(_ count: Int64) -> String {
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        var (value, unit) = (Double(count), 0)
        while value >= 1024 && unit < units.count - 1 { (value, unit) = (value / 1024, unit + 1) }
        return unit == 0 ? "\(count) B" : String(format: "%.1f %@", value, units[unit])
    }

    /// A word for a shell, which people read and copy.
    static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            let character = Character(Unicode.Scalar(byte))
            return byte < 0x80 && (character.isLetter || character.isNumber || "/._-+:@%,=".contains(character))
        }
        if isPlain && !word.isEmpty { return word }
        return ShownText.line("'" + word.replacing("'", with: "'\\''") + "'")
    }
}
