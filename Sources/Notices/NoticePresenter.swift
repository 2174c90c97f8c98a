import Foundation
import Surroundings

/// Where notices are shown.
package protocol NoticePresenter: Sendable {
    /// Shows a notice, in place of the one with its key.
    func show(_ notice: Notice) async
    func close(_ key: NoticeKey) async
    /// What people do with notices. (One reader.)
    var answers: AsyncStream<NoticeAnswer> { get }
}

package enum NoticeAnswer: Sendable, Equatable {
    case pressed(NoticeKey, NoticeAction)
    /// Put away by a person, or by the server after a while.
    case putAway(NoticeKey)
    /// A new server has none of the notices.
    case forgotten
}

/// Notices as lines of JSON.
package struct NoticeLines: NoticePresenter {
    private let write: @Sendable (String) -> Void
    package let answers: AsyncStream<NoticeAnswer>
    // (A stream without this end is over.)
    private let end: AsyncStream<NoticeAnswer>.Continuation

    package init(_ write: @escaping @Sendable (String) -> Void) {
        self.write = write
        (answers, end) = AsyncStream.makeStream()
    }

    private struct Line: Encodable {
        var event: String
        var kind: NoticeKind
        var mountPoint: String
        var title: String?
        var body: String?
        var buttons: [NoticeButton]?
        var commands: [String]?
        var progress: Int?
    }

    package func show(_ notice: Notice) async {
        print(
            Line(
                event: "show", kind: notice.key.kind, mountPoint: notice.key.mountPoint, title: notice.title,
                body: notice.body, buttons: notice.buttons, commands: notice.commands, progress: notice.progress))
    }

    package func close(_ key: NoticeKey) async {
        print(Line(event: "close", kind: key.kind, mountPoint: key.mountPoint))
    }

    private func print(_ line: Line) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        guard let data = try? encoder.encode(line) else { return }
        write(ShownText.json(String(decoding: data, as: UTF8.self)))
    }
}
