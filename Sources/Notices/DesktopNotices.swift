package import SessionBus

/// Notices over `org.freedesktop.Notifications`.
///
/// Source: freedesktop.org, *Desktop Notifications Specification* 1.2.
package actor DesktopNotices: NoticePresenter {
    private static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"

    private let bus: SessionBus
    package nonisolated let answers: AsyncStream<NoticeAnswer>
    private let answer: AsyncStream<NoticeAnswer>.Continuation
    private var listeners: [Task<Void, Never>] = []
    /// The server's numbers of what it shows.
    private var numbers: [NoticeKey: UInt32] = [:]
    /// When a button was pressed last.
    private var pressed: [NoticeKey: ContinuousClock.Instant] = [:]
    /// Nil: not asked since the server started.
    private var capabilities: Set<String>?

    /// Listens from now on.
    package init(_ bus: SessionBus) async {
        self.bus = bus
        (answers, answer) = AsyncStream.makeStream()
        let signals = bus.signals(from: Self.name, Self.path, Self.name)
        let owners = bus.owners(of: Self.name)
        listeners = [
            Task { [weak self] in for await signal in signals { await self?.take(signal) } },
            Task { [weak self] in for await owner in owners { await self?.serverChanged(owner) } },
        ]
    }

    deinit { for listener in listeners { listener.cancel() } }

    private func serverChanged(_ owner: String?) {
        numbers = [:]
        capabilities = nil
        if owner != nil { answer.yield(.forgotten) }
    }

    private func take(_ signal: BusSignal) {
        guard let number = signal.arguments.first?.number.flatMap(UInt32.init(exactly:)),
            let key = numbers.first(where: { $0.value == number })?.key
        else { return }
        if signal.member == "ActionInvoked", let action = signal.arguments.dropFirst().first?.text {
            pressed[key] = .now
            // (A click beside the buttons.)
            let chosen = action == "default" ? .show : NoticeAction(rawValue: action)
            if let chosen { answer.yield(.pressed(key, chosen)) }
        } else if signal.member == "NotificationClosed" {
            // Most servers close a notice whose button is pressed, and some do not; neither is a person's putting
            // away. (What is
            // shown next may have its number.)
            if let moment = pressed.removeValue(forKey: key), moment.duration(to: .now) < .seconds(1) { return }
            numbers[key] = nil
            answer.yield(.putAway(key))
        }
    }

    package func show(_ notice: Notice) async {
        let abilities = await abilities()
        var words: [BusValue] = []
        var body = notice.body
        if abilities.contains("actions") {
            words = notice.buttons.flatMap { [.string($0.action.rawValue), .string($0.label)] }
        } else if !notice.commands.isEmpty {
            body += "\n" + notice.commands.joined(separator: "\n")
        }
        if abilities.contains("body-markup") { body = Self.escaped(body) }
        var hints: [String: BusValue] = [
            "desktop-entry": .string("org.hydrant.Notify"), "category": .string("transfer"),
            "urgency": .byte(notice.stays ? 1 : 0),
        ]
        if let progress = notice.progress { hints["value"] = .int32(Int32(progress)) }
        let arguments: [BusValue] = [
            .string("Hydrant"), .uint32(numbers[notice.key] ?? 0), .string(Self.icon(notice.key.kind)),
            .string(notice.title), .string(body), .array(of: "s", words), .options(hints),
            .int32(notice.stays ? 0 : -1),
        ]
        let answer = try? await bus.call(Self.name, Self.path, Self.name, "Notify", arguments)
        guard let number = answer?.first?.number.flatMap(UInt32.init(exactly:)) else { return }
        numbers[notice.key] = number
    }

    package func close(_ key: NoticeKey) async {
        guard let number = numbers.removeValue(forKey: key) else { return }
        _ = try? await bus.call(Self.name, Self.path, Self.name, "CloseNotification", [.uint32(number)], timeout: 5)
    }

    private func abilities() async -> Set<String> {
        if let capabilities { return capabilities }
        let answer = try? await bus.call(Self.name, Self.path, Self.name, "GetCapabilities")
        guard let list = answer?.first else { return [] }
        let found = Set(list.elements.compactMap(\.text))
        capabilities = found
        return found
    }

    /// A body may have markup; a title has none.
    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }

    private static func icon(_ kind: NoticeKind) -> String {
        switch kind {
        case .conflict, .refused, .heldDeletions: "dialog-warning"
        case .signIn: "dialog-password"
        case .diskFull: "drive-harddisk"
        case .download: "folder-download"
        }
    }
}
