import ControlAPI
import Coordination
import FileProvider

extension CoordinationRequest.Intent {
    var isMetadataOnly: Bool {
        options.contains(.immediatelyAvailableMetadataOnly) || options.contains(.contentIndependentMetadataOnly)
    }
}

extension ClaimIntent {
    init(_ subject: ClaimSubject, otherwise: ClaimSubject?, _ intent: CoordinationRequest.Intent) {
        let options = intent.options
        let access: Access =
            intent.isWriting
            ? .writing(
                savesFirst: options.contains(.forMerging) || options.contains(.forMoving),
                deletes: options.contains(.forDeleting) || options.contains(.forReplacing))
            : .reading(savesFirst: !options.contains(.withoutChanges))
        self.init(subject, otherwise: otherwise, access, isMetadataOnly: intent.isMetadataOnly)
    }
}

extension PresenterMessage {
    init(_ question: PresenterQuestion) {
        let kind: Kind =
            switch question.kind {
            case .relinquishToReader: .relinquishToReader
            case .relinquishToWriter: .relinquishToWriter
            case .saveChanges: .saveChanges
            case .accommodateDeletion: .accommodateDeletion
            case .reacquire: .reacquire
            }
        self.init(kind, question: question.kind == .reacquire ? nil : question.number)
    }
}

extension PathBytes {
    /// Of a path's names, from the mount point on.
    init(joining names: [Filename]) {
        self.init(bytes: Array(names.map(\.bytes).joined(separator: [UInt8(ascii: "/")])))
    }
}
