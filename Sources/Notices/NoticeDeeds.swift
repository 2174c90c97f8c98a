import ControlAPI
package import SessionBus

/// What buttons do: what `hydrant` does.
struct NoticeDeeds: Sendable {
    let snapshot: DomainSnapshot
    let causes: [Cause]
    let tools: NoticeTools

    private func ask(_ request: ControlRequest, timeout: Double? = 60) async throws -> ControlResponse {
        let path = try SocketDirectory.socketPath(mountPoint: snapshot.status.mountPoint)
        let answer = try await ControlClient(socketPath: path).send(request, timeout: timeout)
        if case .failure(let failure) = answer { throw NoticeFailure(failure.message) }
        return answer
    }

    private var places: [PathBytes] { causes.compactMap(\.place) }

    func carryOut(_ action: NoticeAction, agreed: [DiscardedChange]) async throws {
        switch action {
        case .show: try await show()
        case .compare: try await compare()
        case .keepMine: try await resolve(.mine)
        case .keepTheirs: try await resolve(.theirs)
        case .keepBoth: try await resolve(.both)
        case .retry:
            guard case .synced(let left) = try await ask(.retry(paths: places, timeoutSeconds: 30)) else { return }
            let reasons = left.filter { change in causes.contains { $0.subject == change.path } }.compactMap(\.error)
            if let reason = reasons.first { throw NoticeFailure(reason) }
        case .discard: _ = try await ask(.discard(paths: places, agreed: agreed))
        case .signIn:
            guard let words = tools.words.signInCommand(snapshot.status) else { return }
            try await tools.runInTerminal(words)
        case .deleteHere: try await resolveDeletions(.theirs)
        case .putBack: try await resolveDeletions(.mine)
        case .cancelDownload: try await cancelDownloads()
        case .yes, .no: break
        }
    }

    /// The daemon cancels what a picker or the page began, and cannot take a document away from a program that reads
    /// it.
    private func cancelDownloads() async throws {
        for place in places { _ = try await ask(.cancelFetch(path: place)) }
        let deadline = ContinuousClock.now + .seconds(3)
        while case .domain(let status, _) = try await ask(.domain) {
            let running = (status.transfers ?? []).filter { $0.direction == .download }.map(\.path)
            if !causes.contains(where: { running.contains($0.subject) }) { return }
            if .now > deadline { break }
            try await Task.sleep(for: .milliseconds(200))
        }
        throw NoticeFailure(
            tools.words.text(
                "a program reads the document; the download ends when that program closes it",
                "ein Programm liest das Dokument; das Laden endet, wenn dieses Programm es schließt"))
    }

    /// What would be lost.
    func plan() async throws -> [DiscardedChange] {
        guard case .discards(let changes) = try await ask(.discard(paths: places, agreed: nil)) else { return [] }
        return changes
    }

    private func resolve(_ version: KeptVersion) async throws {
        for place in places { _ = try await ask(.resolve(path: place, keep: version)) }
    }

    private func resolveDeletions(_ version: KeptVersion) async throws {
        guard case .deletions(let done) = try await ask(.resolve(path: PathBytes(""), keep: version)) else { return }
        if done.incomplete > 0 {
            throw NoticeFailure(
                tools.words.text(
                    "\(done.incomplete) items are not all on this machine and stay held",
                    "\(done.incomplete) Objekte sind nicht ganz auf diesem Rechner und bleiben"))
        }
    }

    private func compare() async throws {
        let status = snapshot.status
        for cause in causes {
            for place in [cause.place, cause.copy].compactMap(\.self) {
                try await tools.open(Array((status.mountPoint + "/").utf8) + place.bytes)
            }
        }
    }

    /// In the file manager, which selects the items.
    private func show() async throws {
        let mountPoint = Array(snapshot.status.mountPoint.utf8)
        let items = causes.filter { $0.place != nil && !$0.subject.isEmpty }.prefix(50)
        guard let bus = tools.bus, !items.isEmpty else { return try await tools.open(mountPoint) }
        let uris = items.flatMap { [$0.place, $0.copy].compactMap(\.self) }.map {
            Self.uri(mountPoint + [UInt8(ascii: "/")] + $0.bytes)
        }
        let manager = "org.freedesktop.FileManager1"
        do {
            _ = try await bus.call(
                manager, "/org/freedesktop/FileManager1", manager, "ShowItems", [.strings(uris), .string("")])
        } catch { try await tools.open(mountPoint) }
    }

    static func uri(_ path: [UInt8]) -> String {
        "file://"
            + path.map { byte in
                let character = Character(Unicode.Scalar(byte))
                let isPlain = byte < 0x80 && (character.isLetter || character.isNumber || "/-._~".contains(character))
                return isPlain
                    ? String(character) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }.joined()
    }
}

/// What the service needs of the command.
package struct NoticeTools: Sendable {
    package var words: NoticeWords
    /// Nil: there is none, or none is wanted.
    package var bus: SessionBus?
    /// Opens a path with the user's program for it; returns when it is started.
    package var open: @Sendable ([UInt8]) async throws -> Void
    /// Runs `hydrant` with these words in a terminal; returns when it has ended.
    package var runInTerminal: @Sendable ([String]) async throws -> Void
    /// In bytes: smaller downloads need no notice.
    package var large: Int64

    package init(
        _ words: NoticeWords, bus: SessionBus?, large: Int64, open: @escaping @Sendable ([UInt8]) async throws -> Void,
        runInTerminal: @escaping @Sendable ([String]) async throws -> Void
    ) {
        self.words = words
        self.bus = bus
        self.large = large
        self.open = open
        self.runInTerminal = runInTerminal
    }
}

/// What a button was to do was not done.
package struct NoticeFailure: Error {
    /// For people.
    package var message: String
    package init(_ message: String) { self.message = message }
}
